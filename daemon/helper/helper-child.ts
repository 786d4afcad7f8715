import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { QUICK_FLAGS, quickEnvironment } from '../quick-start.ts'
import { buildEnvironment, type Environment } from './environment.ts'
import type { HelperClass } from './helper-class.ts'
import { type ParsedFrame, parseFrame } from './parse-frame.ts'
import { type HelperOrder, LINK_FD, MAX_FRAME_BYTES } from './protocol.ts'
import { readLines } from './read-lines.ts'

/** Handle of a helper process. */
export interface HelperChild {
  pid: number | undefined
  send(order: HelperOrder): void
  /** Kills it immediately, with every program that it started. */
  kill(): void
}

interface HelperListener {
  onFrame: (frame: ParsedFrame) => void
  /** Runs once. `how` describes in plain words how the process ended. */
  onEnd: (how: string) => void
}

export type SpawnHelper = (listener: HelperListener) => HelperChild

const MAIN = join(import.meta.dirname, 'child', 'main.ts')
/** Heap limit. Answers of libraries have a few MiB at most; more is a fault. */
const MAX_HEAP_MIB = 192

/**
 * Creates a spawner of helper processes of one class, each the leader of its own process group, so
 * that programs started by a library end with it. Output is discarded. The class is an argument, so
 * that `ps` shows it. Messages use a pipe of their own, because a message of Node's IPC channel has
 * no size limit.
 */
export const createSpawner =
  (env: Environment, main = MAIN) =>
  (helperClass: HelperClass): SpawnHelper =>
  listener => {
    const args = [`--max-old-space-size=${MAX_HEAP_MIB}`, ...QUICK_FLAGS, main, helperClass]
    const child = spawn(process.execPath, args, {
      env: { ...buildEnvironment(helperClass, env), ...quickEnvironment() },
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'overlapped'],
    })
    const end = reportEnd(child, listener)
    // a machine without free file descriptors starts nothing, and reports that later
    const link = child.stdio?.[LINK_FD] as Duplex | undefined
    if (link !== undefined) readFrames(link, listener.onFrame, end)
    return {
      pid: child.pid,
      send: order => link?.writable && link.write(`${JSON.stringify(order)}\n`),
      kill: () => killGroup(child),
    }
  }

/** Reads the messages of a process; `end` is called for a process that sends what it must not. */
const readFrames = (
  link: Duplex,
  onFrame: HelperListener['onFrame'],
  end: HelperListener['onEnd'],
): void => {
  // an order for a process that has ended is lost with it
  link.on('error', () => {})
  const take = (line: string): void => {
    const frame = parseFrame(line)
    if (frame !== undefined) onFrame(frame)
    else end('sent a malformed message')
  }
  readLines(link, MAX_FRAME_BYTES, take, () =>
    end(`sent a message of more than ${MAX_FRAME_BYTES} bytes`),
  )
}

/** Reports the end of the process; the returned function ends it at once, for a given reason. */
const reportEnd = (child: ChildProcess, listener: HelperListener): HelperListener['onEnd'] => {
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
  return end
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
