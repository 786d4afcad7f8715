/** The helper with a table of its own: functions that do what foreign code does at its worst. */
import { spawn } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { serve } from '../../daemon/helper/child/serve.ts'

serve({
  test: async () => ({
    echo: (input: unknown) => input,
    environment: () => process.env,
    nothing: () => undefined,
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
    /** Answers once it could write what it saw, so that a test knows that it runs. */
    slowEcho: async (input: unknown) => {
      await pause(100)
      return input
    },
    /** Starts a program that outlives everything but the group, and answers its number. */
    child: () => spawn('sleep', ['1000'], { stdio: 'ignore' }).pid,
  }),
})
