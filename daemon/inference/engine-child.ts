import { type ChildProcess, fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Logger } from 'pino'
import { QUICK_FLAGS, quickEnvironment } from '../quick-start.ts'
import type { EngineReply, Order } from './protocol.ts'

/** An engine process, as its owner sees it. */
export interface EngineChild {
  pid: number | undefined
  send(order: Order): void
  /** Ends it at once; closing an engine that works can crash. */
  kill(): void
}

export interface ChildListener {
  onReply: (reply: EngineReply) => void
  /** Runs once. `how` describes in plain words how the child ended. */
  onEnd: (how: string) => void
}

export type SpawnEngine = (slots: number, listener: ChildListener) => EngineChild

const MAIN = join(import.meta.dirname, 'child', 'main.ts')

/** Starts engine processes that log through `logger`. */
export const engineSpawner =
  (logger: Logger): SpawnEngine =>
  (slots, listener) => {
    const child = fork(MAIN, {
      serialization: 'advanced',
      execArgv: QUICK_FLAGS,
      env: childEnvironment(slots),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    child.on('message', reply => listener.onReply(reply as EngineReply))
    const lastLines = logLines(child, logger)
    child.on('close', (code, signal) => {
      const facts = { engine_pid: child.pid, code, signal, output: lastLines.join('\n') }
      if (code !== 0 && !isKilled) logger.warn(facts, 'engine process ended')
    })
    let isKilled = false
    let ended = false
    const end = (how: string): void => {
      if (ended) return
      ended = true
      listener.onEnd(how)
    }
    child.on('error', error => {
      // one that cannot be killed is an error too, and no end
      if (child.pid === undefined) end(`could not be started: ${error.message}`)
    })
    child.on('exit', (code, signal) =>
      end(signal === null ? `ended with code ${code}` : `was ended by ${signal}`),
    )
    return {
      pid: child.pid,
      send: order => child.connected && child.send(order, () => {}),
      kill: () => {
        isKilled = true
        child.kill('SIGKILL')
      },
    }
  }

/** Environment of a child, without the daemon's settings, which may contain secrets. */
const childEnvironment = (slots: number): NodeJS.ProcessEnv => {
  const foreign = Object.entries(process.env).filter(([name]) => !/^(SHOAL_|NODE_)/.test(name))
  return {
    ...Object.fromEntries(foreign),
    ...quickEnvironment(),
    UV_THREADPOOL_SIZE: String(poolThreads(slots)),
  }
}

/**
 * The engine computes on one of libuv's threads and then samples on one for each slot. More of them
 * than CPUs only take turns, each with cold caches: besides computing, a token cost a tenth more CPU
 * with 20 threads on 2 CPUs than with 2. At least 2, so that a file can be read while one computes.
 */
export const poolThreads = (slots: number, cpus = availableParallelism()): number =>
  Math.max(2, Math.min(slots, cpus))

const MAX_LINE_LENGTH = 2000

/** Lines that are kept to say why a process has ended: a stack trace with what was thrown. */
const LAST_LINES = 30

/** Writes its output to the log at debug, and returns the last lines, which change as it goes on. */
const logLines = (child: ChildProcess, logger: Logger): string[] => {
  const lastLines: string[] = []
  for (const input of [child.stdout, child.stderr]) {
    if (input === null) continue
    createInterface({ input }).on('line', line => {
      const text = line.slice(0, MAX_LINE_LENGTH)
      logger.debug({ engine_pid: child.pid }, text)
      lastLines.push(text)
      if (lastLines.length > LAST_LINES) lastLines.shift()
    })
  }
  return lastLines
}
