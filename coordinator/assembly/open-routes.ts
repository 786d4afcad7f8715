import type { Registry } from 'prom-client'
import type { RunningMonitor } from '../fleet/alerts/monitor.ts'
import type { Fleet } from '../fleet/cells/fleet.ts'
import type { OpenEnrolment } from '../fleet/enrolment/open.ts'
import type { GuardedAudit } from '../kernel/audit/open.ts'
import type { Base } from '../kernel/base/base.ts'
import type { Replicas } from '../kernel/replicas/replicas.ts'
import type { SigningKey } from '../kernel/signing/signing.ts'
import type { StoreProbe } from '../kernel/store/probe.ts'
import type { A2aParts } from '../surfaces/a2a/a2a-routes.ts'
import { findReadinessFault } from '../surfaces/http/readiness.ts'
import type { RunningAnswers } from '../surfaces/http/running.ts'
import { type AppParts, addRoutes } from './app.ts'

interface RouteParts
  extends Pick<Base, 'logger' | 'now' | 'runtime'>,
    Pick<
      AppParts,
      | 'answerMemory'
      | 'storedResponses'
      | 'config'
      | 'keys'
      | 'quota'
      | 'usage'
      | 'metrics'
      | 'budgets'
      | 'events'
      | 'moreSkills'
    >,
    Required<Pick<AppParts, 'catalogue' | 'lanes' | 'pipeline' | 'views'>>,
    Omit<A2aParts, 'fixture'> {
  fixture: A2aParts['fixture'] | undefined
  app: Parameters<typeof addRoutes>[0]
  running: RunningAnswers
  fleet: Fleet
  registry: Registry
  signing: Pick<SigningKey, 'trust'>
  cells: Pick<OpenEnrolment['cells'], 'renew'>
  admission: OpenEnrolment['admission']
  monitor: Pick<RunningMonitor, 'isDegraded'>
  bus: { isConnected(): boolean }
  audit: Pick<GuardedAudit, 'trouble'>
  probe: StoreProbe
  replicas: Replicas
}

/** Registers every route on the server, which does not listen yet. */
export const openRoutes = async (
  parts: RouteParts,
): Promise<{ storeProblem: () => string | undefined }> => {
  const { app, running, admission, cells, signing, monitor, bus, audit, probe, now } = parts
  // an audit log that was tampered with stops all writes, but nothing else
  const storeProblem = () => (audit.trouble() === undefined ? probe.trouble() : undefined)
  const { tasks, operationTasks, readerOf, push, fixture, replicas } = parts
  await addRoutes(app, {
    ...parts,
    enrol: request => admission.enrol(request),
    cellSelf: {
      authenticate: (cellId, credential, caller) =>
        admission.authenticate(cellId, credential, caller),
      noteArrival: (cellId, bootId) => admission.noteArrival(cellId, bootId),
      renew: cellId => cells.renew(cellId),
      leave: cellId => admission.leave(cellId),
      trust: signing.trust,
      now,
    },
    a2a: { tasks, operationTasks, readerOf, push, ...(fixture && { fixture }) },
    isDegraded: monitor.isDegraded,
    findReadinessFault: () =>
      findReadinessFault({
        isLeaving: running.isLeaving,
        brokerConnected: bus.isConnected,
        storeProblem,
        lacksCells: () => replicas.lacksCells(),
      }),
  })
  return { storeProblem }
}
