import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { CallOrder, HelperReply } from './protocol.ts'

/** The helper process, as its owner sees it. */
export interface HelperChild {
  pid: number | undefined
  send(order: CallOrder): void
  /** Ends it at once, with every program that it has started. */
  kill(): void
}

export interface HelperListener {
  onReply: (reply: HelperReply) => void
  /** Once. `how` says in plain words how it ended. */
  onEnd: (how: string) => void
}

export type SpawnHelper = (listener: HelperListener) => HelperChild

const MAIN = join(import.meta.dirname, 'child', 'main.ts')
/** Foreign answers are of a few MiB at most; more is a fault. */
const MAX_HEAP_MIB = 192
/** Everything else may hold a secret of the daemon or of who has started it. */
const PASSED_ON = ['PATH', 'SHELL', 'TZ', 'DOCKER_SOCKET', 'SystemRoot'] as const

/**
 * Starts helper processes, each the leader of a process group of its own: what a library has
 * started ends with it. What they print is thrown away.
 */
export const helperSpawner =
  (env: Record<string, string | undefined>, main = MAIN): SpawnHelper =>
  listener => {
    const child = fork(main, {
      execArgv: [`--max-old-space-size=${MAX_HEAP_MIB}`],
      env: environment(env),
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    child.on('message', reply => listener.onReply(reply as HelperReply))
    onEnd(child, listener)
    return {
      pid: child.pid,
      send: order => child.connected && child.send(order, () => {}),
      kill: () => killGroup(child),
    }
  }

const environment = (env: Record<string, string | undefined>): NodeJS.ProcessEnv => {
  const passed = PASSED_ON.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]]))
  return { ...Object.fromEntries(passed), LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', HOME: '/' }
}

const onEnd = (child: ChildProcess, listener: HelperListener): void => {
  let ended = false
  const end = (how: string): void => {
    if (ended) return
    ended = true
    // it may have left programs behind that it had started
    killGroup(child)
    listener.onEnd(how)
  }
  child.on('error', error => {
    // one that cannot be killed is an error too, and no end
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
    // nobody is left, or this system knows no groups
    child.kill('SIGKILL')
  }
}
