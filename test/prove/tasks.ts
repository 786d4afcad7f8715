import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runTaskHistories } from '../support/task-histories.ts'

/**
 * Clients talk to tasks and cancel them at two coordinators that are killed between any two writes:
 * no message may be lost or done twice, and no task may be stuck.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = { tasks: { type: 'string', default: '400' } } as const
  const tasks = Number(parseArgs({ args: argv, options }).values.tasks)
  const folder = mkdtempSync(join(tmpdir(), 'shoal-tasks-'))
  try {
    const { faults, kills, messages, cancellations } = await runTaskHistories({
      folder,
      tasks,
      random: Math.random,
    })
    for (const fault of faults.slice(0, 20)) console.log(fault)
    console.log(
      `${tasks} tasks, ${kills} kills, ${messages} messages accepted, ${cancellations} tasks cancelled, ${faults.length} faults`,
    )
    return faults.length === 0
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
