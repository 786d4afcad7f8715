import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { createCallLimits } from '../../coordinator/access/quota/call-limits.ts'
import { type AppParts, addRoutes } from '../../coordinator/assembly/app.ts'
import type { Views } from '../../coordinator/assembly/coordinator.ts'
import { createCallViews } from '../../coordinator/calls/invoke/call-views.ts'
import { CallPipeline, type PipelineParts } from '../../coordinator/calls/invoke/invoke.ts'
import { CoordinatorConfig } from '../../coordinator/config.ts'
import { createResolveCells } from '../../coordinator/fleet/cells/resolve-cells.ts'
import { Transfers } from '../../coordinator/fleet/questions/transfers.ts'
import { Budgets } from '../../coordinator/kernel/budgets/budgets.ts'
import type { Key } from '../../coordinator/kernel/declaration/key.ts'
import { skills } from '../../coordinator/surfaces/catalogue/skills.ts'
import { createServer } from '../../coordinator/surfaces/http/open.ts'
import { createCoordinatorMetrics } from '../../coordinator/surfaces/metrics/coordinator-metrics.ts'
import { systemRuntime } from '../../shared/runtime.ts'
import { silent } from './cell.ts'
import { createEvents } from './memory-events.ts'

export const keyOfTier = (tier: Key['tier']): Key => ({
  id: `key-${tier}`,
  tenantId: 'home',
  furtherTenants: ['second'],
  personId: 'p',
  tier,
  roles: ['client'],
  kind: 'person',
  label: '',
  createdAt: 0,
})

const keys: Record<string, Key> = {
  'free-key': keyOfTier('free'),
  'pro-key': keyOfTier('pro'),
  'enterprise-key': keyOfTier('enterprise'),
  'reviewer-key': { ...keyOfTier('enterprise'), id: 'key-reviewer', roles: ['reviewer'] },
  'admin-key': { ...keyOfTier('enterprise'), id: 'key-admin', roles: ['client', 'operator_admin'] },
}

export const standing = {
  limit: 1000,
  remaining: 990,
  resetSeconds: 1_900_000_000,
  burst: 7,
  minuteLimit: 10,
}

export const config = (input: object = {}) => CoordinatorConfig.parse(input)

const fine: Views['vitals'] = {
  uptimeSeconds: () => 60,
  brokerConnected: () => true,
  storeProblem: () => undefined,
  usageProblem: () => undefined,
  damagedRows: () => 0,
  disk: async () => ({ freeBytes: 50, totalBytes: 100 }),
  loopDelayMs: () => 1,
}

const sole = { id: 'rep_test', name: 'a', address: undefined, version: '1', startedAt: 0 }

/** What operations see; what is not given here must not be looked at. */
export const views = (parts: Partial<Views> = {}): Views => ({
  ...({} as Views),
  ...createCallViews(skills, { ...systemRuntime, now: () => 0 }),
  catalogue: config().catalogue,
  tiers: config().tiers,
  vitals: fine,
  callHours: { read: async () => [] },
  replicas: {
    live: () => [sole],
    isLeader: () => true,
    readStates: async () => [{ ...sole, isSelf: true, leads: true, unconnected: [] }],
  },
  ...parts,
})

const NOW = () => 1_800_000_000_000
const quota: AppParts['quota'] = { standing: () => standing, admit: () => ({ refund: () => {} }) }

/** The real pipeline over fakes. */
export const pipelineWith = ({
  views: seen = () => views(),
  ...parts
}: Partial<Omit<PipelineParts, 'views'>> & { views?: () => Views } = {}) =>
  new CallPipeline({
    skills,
    views: seen,
    resolveReferences: (...asked) => createResolveCells(seen())(...asked),
    tasks: () => undefined,
    countCall: createCallLimits({ ticks: systemRuntime.nowMs }),
    quota,
    now: NOW,
    runtime: systemRuntime,
    logger: silent,
    ...parts,
  })

/** The HTTP server with every route, not listening yet. */
const buildApp = async (parts: AppParts): Promise<FastifyInstance> => {
  const app = createServer(parts)
  await addRoutes(app, parts)
  return app
}

/** The real server with fakes behind it; the part a test is about is given by the test. */
export const appWith = ({
  views: seen = views(),
  budgets = new Budgets(config().limits),
  ...parts
}: Partial<AppParts> = {}) =>
  buildApp({
    config: config(),
    logger: silent,
    now: NOW,
    runtime: systemRuntime,
    keys: { authenticate: presented => keys[presented] },
    quota,
    usage: { record: async () => {} },
    fleet: { pick: () => undefined, cells: () => [], serves: () => false, roundTripsMs: () => [] },
    metrics: createCoordinatorMetrics(),
    budgets,
    answerMemory: { budget: budgets.heldAnswers, transfers: new Transfers() },
    events: createEvents({ source: '/shoal/test', logger: silent }),
    running: { add: () => {}, remove: () => {}, isDraining: () => false },
    enrol: async () => ({ cell_id: 'c', credential: 'x' }),
    cellSelf: {} as AppParts['cellSelf'],
    findReadinessFault: () => undefined,
    views: seen,
    pipeline: pipelineWith({
      views: () => seen as Views,
      skills: [...skills, ...(parts.moreSkills ?? [])],
      tasks: () => parts.a2a?.operationTasks,
      hold: parts.keys?.hold?.bind(parts.keys),
      ...(parts.quota && { quota: parts.quota }),
      ...(parts.now && { now: parts.now }),
    }),
    ...parts,
  })

/** Sends bytes as they are and collects what comes back until the server closes. */
export const rawRequest = async (address: AddressInfo, text: string): Promise<string> => {
  const socket = connect(address.port, address.address)
  socket.write(text)
  let answer = ''
  socket.on('data', piece => {
    answer += piece
  })
  await once(socket, 'close')
  return answer
}

/** Sends the head and a large body to its end before it reads anything, and gives the status line. */
export const statusAfterWriting = async (
  socket: Socket,
  head: readonly string[],
  bytes = 8 * 1024 * 1024,
): Promise<string> => {
  socket.write([...head, `content-length: ${bytes}`, '', ''].join('\r\n'))
  await new Promise<void>((resolve, reject) =>
    socket
      .once('error', reject)
      .write(Buffer.alloc(bytes, ' '), error => (error ? reject(error) : resolve())),
  )
  const [answer] = await once(socket, 'data')
  socket.destroy()
  return String(answer).split('\r\n', 1)[0] as string
}
