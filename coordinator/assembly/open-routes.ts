import type { Registry } from 'prom-client'
import type { A2aParts } from '../a2a/a2a-routes.ts'
import type { GuardedAudit } from '../audit/open.ts'
import type { Base } from '../base/base.ts'
import type { OpenEnrolment } from '../enrolment/open.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { RunningMonitor } from '../fleet/monitor.ts'
import { findReadinessFault } from '../http/readiness.ts'
import type { RunningAnswers } from '../http/running.ts'
import type { Views } from '../operations/context.ts'
import type { Replicas } from '../replicas/replicas.ts'
import type { SigningKey } from '../signing/signing.ts'
import type { StoreProbe } from '../store/probe.ts'
import { type AppParts, addRoutes } from './app.ts'

interface RouteParts
  extends Pick<Base, 'logger' | 'now'>,
    Pick<
      AppParts,
      | 'answerMemory'
      | 'storedResponses'
      | 'config'
      | 'keys'
      | 'quota'
      | 'usage'
      | 'figures'
      | 'budgets'
      | 'events'
      | 'moreSkills'
    >,
    Required<Pick<AppParts, 'catalogue' | 'lanes' | 'pipeline'>>,
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
  views: Views
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
