import { randomUUID } from 'node:crypto'
import { Socket } from 'node:net'
import { newId } from './ids.ts'

/** A call that is due later; disposal cancels it. */
export interface Timer extends Disposable {
  /** Lets the process end before the call. */
  unref(): Timer
}

/** Names that are new with every call; none is a secret. */
interface Ids {
  /** Id that sorts by creation time: `cell_01j…`. */
  create: (prefix: string, now?: number) => string
  /** Random UUID (RFC 9562, version 4). */
  uuid: () => string
}

/**
 * Parts of the machine that a test or a simulation replaces: clocks, timers,
 * randomness, ids and connections. Secrets are not part of it: they come from `node:crypto` only.
 */
export interface Runtime {
  /** Unix time, milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
  setTimeout: (call: () => void, milliseconds: number) => Timer
  setInterval: (call: () => void, milliseconds: number) => Timer
  /** Calls back after the events that are due already. */
  setImmediate: (call: () => void) => Timer
  /** Number from 0 up to, but not including, 1. */
  random: () => number
  ids: Ids
  /** Socket of a connection that this process opens; it is not connected yet. */
  connect: () => Socket
}

export const systemRuntime: Runtime = {
  now: () => Date.now(),
  nowMs: () => performance.now(),
  setTimeout: (call, milliseconds) => setTimeout(call, milliseconds),
  setInterval: (call, milliseconds) => setInterval(call, milliseconds),
  setImmediate: call => setImmediate(call),
  random: () => Math.random(),
  ids: { create: newId, uuid: () => randomUUID() },
  connect: () => new Socket(),
}

/** Runs a function later, unless the returned function is called before. */
export type CallAfter = (milliseconds: number, run: () => void) => () => void

/** Calls of a runtime that do not keep the process from ending. */
export const callAfterBy =
  ({ setTimeout }: Pick<Runtime, 'setTimeout'>): CallAfter =>
  (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds).unref()
    return () => stopTimer(timer)
  }

export const stopTimer = (timer: Timer | undefined): void => timer?.[Symbol.dispose]()

/** Resolves after the events that are due already. */
export const nextTurn = ({ setImmediate }: Pick<Runtime, 'setImmediate'>): Promise<void> =>
  new Promise(resolve => setImmediate(resolve))

/** Resolves after the time, or immediately when the signal aborts; never rejects. */
export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>

interface SleepOptions {
  /** Ends the sleep: it rejects with the reason. */
  signal?: AbortSignal
  /** False lets the process end meanwhile. */
  ref?: boolean
}

export const sleep = (
  { setTimeout }: Pick<Runtime, 'setTimeout'>,
  milliseconds: number,
  { signal, ref = true }: SleepOptions = {},
): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, milliseconds)
    if (!ref) timer.unref()
    const onAbort = () => {
      stopTimer(timer)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
  })

/** Returns a sleep that resolves early when its signal aborts, and never rejects. */
export const waitBy =
  (runtime: Pick<Runtime, 'setTimeout'>): Wait =>
  (milliseconds, signal) =>
    sleep(runtime, milliseconds, { signal }).catch(() => {})

/** Signal that aborts with a `TimeoutError` after the time. The process may end before. */
export const timeoutSignal = (
  { setTimeout }: Pick<Runtime, 'setTimeout'>,
  milliseconds: number,
): AbortSignal => {
  const controller = new AbortController()
  const abort = () => controller.abort(new DOMException('the time is over', 'TimeoutError'))
  setTimeout(abort, milliseconds).unref()
  return controller.signal
}
