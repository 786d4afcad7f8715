import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { buildEnvironment, type Environment } from './environment.ts'
import type { HelperClass } from './helper-class.ts'
import type { HelperFrame, HelperOrder } from './protocol.ts'

/** Handle of a helper process. */
export interface HelperChild {
  pid: number | undefined
  send(order: HelperOrder): void
  /** Kills it immediately, with every program that it started. */
  kill(): void
}

interface HelperListener {
  onFrame: (frame: HelperFrame) => void
  /** Called once. `how` describes in plain words how the process ended. */
  onEnd: (how: string) => void
}

export type SpawnHelper = (listener: HelperListener) => HelperChild

const MAIN = join(import.meta.dirname, 'child', 'main.ts')
/** Heap limit. Answers of libraries have a few MiB at most; more is a fault. */
const MAX_HEAP_MIB = 192

/**
 * Creates a spawner of helper processes of one class, each the leader of its own process group, so
 * that programs started by a library end with it. Output is discarded. The class is an argument, so
 * that `ps` shows it.
 */
export const createSpawner =
  (env: Environment, main = MAIN) =>
  (helperClass: HelperClass): SpawnHelper =>
  listener => {
    const child = fork(main, [helperClass], {
      execArgv: [`--max-old-space-size=${MAX_HEAP_MIB}`],
      env: buildEnvironment(helperClass, env),
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    child.on('message', frame => listener.onFrame(frame as HelperFrame))
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
    // programs that it started may have outlived it
    killGroup(child)
    listener.onEnd(how)
  }
  child.on('error', error => {
    // a process that cannot be killed also emits `error`, and has not ended
    if (child.pid === undefined) end(`could not be started: ${error.message}`)
  })
  child.on('exit', (code, signal) =>
    end(signal === null ? `ended with code ${code}` : `was killed by ${signal}`),
  )
}

/** The group, and its id, outlive the leader as long as one of its programs runs. */
const killGroup = (child: ChildProcess): void => {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // the group is empty, or the platform has no process groups
    child.kill('SIGKILL')
  }
}
