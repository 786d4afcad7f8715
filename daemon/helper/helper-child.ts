import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { buildEnvironment, type Environment } from './environment.ts'
import type { HelperClass } from './helper-class.ts'
import type { Frame, Order } from './protocol.ts'

/** A helper process, as its owner sees it. */
export interface HelperChild {
  pid: number | undefined
  send(order: Order): void
  /** Ends it at once, with every program that it has started. */
  kill(): void
}

export interface HelperListener {
  onFrame: (frame: Frame) => void
  /** Called once. `how` says in plain words how the process ended. */
  onEnd: (how: string) => void
}

export type SpawnHelper = (listener: HelperListener) => HelperChild

const MAIN = join(import.meta.dirname, 'child', 'main.ts')
/** Foreign answers are of a few MiB at most; more is a fault. */
const MAX_HEAP_MIB = 192

/**
 * Starts helper processes of one class, each the leader of a process group of its own: what a
 * library has started ends with it. What they print is thrown away. The class is an argument, so
 * that `ps` shows it.
 */
export const helperSpawner =
  (env: Environment, main = MAIN) =>
  (helperClass: HelperClass): SpawnHelper =>
  listener => {
    const child = fork(main, [helperClass], {
      execArgv: [`--max-old-space-size=${MAX_HEAP_MIB}`],
      env: buildEnvironment(helperClass, env),
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    child.on('message', frame => listener.onFrame(frame as Frame))
    reportEnd(child, listener)
    return {
      pid: child.pid,
      send: order => child.connected && child.send(order, () => {}),
      kill: () => killGroup(child),
    }
  }

const reportEnd = (child: ChildProcess, listener: HelperListener): void => {
  let ended = false
  const end = (how: string): void => {
    if (ended) return
    ended = true
    // programs that it had started may have outlived it
    killGroup(child)
    listener.onEnd(how)
  }
  child.on('error', error => {
    // a process that cannot be killed reports an error too, and has not ended
    if (child.pid === undefined) end(`could not be started: ${error.message}`)
  })
  child.on('exit', (code, signal) =>
    end(signal === null ? `ended with code ${code}` : `was ended by ${signal}`),
  )
}

/** The group outlives its leader as long as one of its programs runs, and its number with it. */
const killGroup = (child: ChildProcess): void => {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // the group is empty, or this system knows no groups
    child.kill('SIGKILL')
  }
}
