/**
 * The engine child: one process, one weights file. The daemon talks to it over IPC and ends it by
 * killing it, because closing the engine while it works can crash. Signals for the whole process
 * group (Ctrl-C, systemd) are the daemon's business.
 */
import { flushCompileCache } from 'node:module'
import { BEAT_MS } from '../heartbeat.ts'
import type { EngineReply, JobOrder, LoadOrder, MeasureOrder, Order } from '../protocol.ts'
import { ChatEngine } from './chat-engine.ts'
import { EmbeddingEngine } from './embedding-engine.ts'
import { measureThroughput } from './measure.ts'
import { deviceOf, isTransient, loadModel } from './model.ts'
import { Outbox } from './outbox.ts'
import { progressTeller } from './progress-teller.ts'
import { RankingEngine } from './ranking-engine.ts'
import { UnservableError } from './unservable-error.ts'

/** Consecutive engine failures after which the process counts as broken. */
const MAX_FAILURES = 3

const send = (reply: EngineReply): void => {
  process.send?.(reply)
}

let engine: ChatEngine | EmbeddingEngine | RankingEngine | undefined
const ENGINES = { chat: ChatEngine, embedding: EmbeddingEngine, rerank: RankingEngine } as const
let contextLength = 0
let failures = 0
const cancelled = new Set<number>()
const running = new Set<number>()
const outbox = new Outbox({
  send,
  counts: () => engine?.counts ?? { steps: 0, width: 0, active: 0, tokens: 0 },
  now: () => performance.now(),
})

const load = async (order: LoadOrder): Promise<void> => {
  const startedAt = performance.now()
  try {
    const model = await loadModel(
      order,
      progressTeller(send, () => performance.now()),
    )
    const onStep = (): void => outbox.endStep()
    engine = await ENGINES[order.kind].create(model, order, onStep)
    const loadMs = Math.round(performance.now() - startedAt)
    contextLength = order.contextLength
    send({ type: 'ready', slots: order.slots, contextLength, device: deviceOf(model), loadMs })
    // a killed process would write nothing at its end
    flushCompileCache()
  } catch (error) {
    send({ type: 'failed', reason: (error as Error).message, transient: isTransient(error) })
  }
}

const measureOnly = async (order: MeasureOrder): Promise<void> => {
  try {
    const model = await loadModel({ ...order, kind: 'chat', threads: Math.max(...order.threads) })
    send({ type: 'measured', rows: await measureThroughput(model, order) })
  } catch (error) {
    send({ type: 'failed', reason: (error as Error).message, transient: isTransient(error) })
  }
}

const run = async (asked: JobOrder): Promise<void> => {
  const { job } = asked
  const order = { ...asked, contextLength: Math.min(asked.contextLength, contextLength) }
  const isCancelled = (): boolean => cancelled.has(job)
  running.add(job)
  try {
    if (engine instanceof ChatEngine && order.type === 'chat') {
      await engine.run(order, event => outbox.push(event), isCancelled)
    } else if (engine instanceof EmbeddingEngine && order.type === 'embed') {
      await engine.run(order, event => outbox.push(event), isCancelled)
    } else if (engine instanceof RankingEngine && order.type === 'rank') {
      await engine.run(order, event => outbox.push(event), isCancelled)
    }
    failures = 0
  } catch (error) {
    refuse(job, error)
  } finally {
    running.delete(job)
    cancelled.delete(job)
    outbox.hurry()
  }
}

const refuse = (job: number, error: unknown): void => {
  if (error instanceof UnservableError) {
    const { code, message, param } = error
    outbox.push({ type: 'refused', job, code, message, param })
    return
  }
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`error: job ${job}: ${message}\n`)
  outbox.push({
    type: 'refused',
    job,
    code: 'cell_unavailable',
    message: 'the engine failed to process this request',
    param: undefined,
  })
  if (++failures >= MAX_FAILURES)
    throw new Error(`${failures} requests in a row failed: ${message}`)
}

process.on('message', (order: Order) => {
  if (order.type === 'load') void load(order)
  else if (order.type === 'measure') void measureOnly(order)
  else if (order.type === 'cancel') {
    if (running.has(order.job)) cancelled.add(order.job)
  } else void run(order)
})
setInterval(() => {
  if (running.size > 0) send({ type: 'beat' })
}, BEAT_MS).unref()
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
