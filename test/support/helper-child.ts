/** The helper with a table of its own: functions that do what foreign code does at its worst. */
import { spawn } from 'node:child_process'
import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { serveCalls } from '../../daemon/helper/child/serve.ts'
import type { CallContext, HelperFunction } from '../../daemon/helper/child/served-call.ts'
import { LINK_FD } from '../../daemon/helper/protocol.ts'

let produced = 0
let cleanedUp = 0

const functions: Readonly<Record<string, HelperFunction>> = {
  echo: (input: unknown) => input,
  environment: () => process.env,
  nothing: () => undefined,
  /** Sends a line of the test's choice to the daemon, then never answers. */
  sendLine: (line: string) => {
    writeSync(LINK_FD, `${line}\n`)
    return new Promise(() => {})
  },
  fail: () => {
    throw new Error('no such thing')
  },
  large: () => 'x'.repeat(2 * 1024 * 1024),
  wait: async () => {
    await pause(20_000)
  },
  block: () => {
    for (;;);
  },
  exit: () => process.exit(3),
  /** Answers later, so that a test knows that it runs. */
  slowEcho: async (input: unknown) => {
    await pause(100)
    return input
  },
  /** Starts a program that outlives everything but the group, and answers its number. */
  child: () => spawn('sleep', ['1000'], { stdio: 'ignore' }).pid,
  /** Items of about a kilobyte. */
  items: async function* ({ count }: { count: number }) {
    produced = 0
    try {
      for (let n = 0; n < count; n++) {
        produced++
        yield { n, padding: 'x'.repeat(1000) }
      }
    } finally {
      cleanedUp++
    }
  },
  produced: () => produced,
  cleanedUp: () => cleanedUp,
  /** Yields once and then does nothing until it is cancelled. */
  untilCancelled: async function* (_input: unknown, { signal }: CallContext) {
    yield 'first'
    await pause(60_000, undefined, { signal }).catch(() => {})
    cleanedUp++
  },
  /** Yields once and then ends its process. */
  itemThenExit: async function* () {
    yield 'first'
    await pause(50)
    process.exit(4)
  },
  failLater: async function* () {
    yield 'first'
    throw new Error('it broke')
  },
  progress: async function* (_input: unknown, { report }: CallContext) {
    for (let done = 0; done < 1000; done++) report({ done, total: 1000 })
    yield 'end'
  },
  /** Reports what no progress can be. */
  wrongProgress: async function* (_input: unknown, { report }: CallContext) {
    report({ done: -1 })
    yield 'end'
  },
}

serveCalls({
  test: async name => (Object.hasOwn(functions, name) ? functions[name] : undefined),
})
