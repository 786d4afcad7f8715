import { parseArgs } from 'node:util'
import { startStack } from '../support/stack.ts'
import { killUnderUse } from '../support/usage-kills.ts'

/**
 * Clients ask two cells for answers while the coordinator is killed with kill -9 again and again: the
 * usage of each acknowledged answer is recorded, and the audit is whole.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = { kills: { type: 'string', default: '100' } } as const
  const kills = Number(parseArgs({ args: argv, options }).values.kills)
  const stack = await startStack({ cells: 2 })
  try {
    const { acknowledged, lost, audit } = await killUnderUse(stack, { kills, model: 'model-a:7b' })
    console.log(
      `${kills} kills, ${acknowledged.length} answers acknowledged, the usage of ${lost.length} lost, ` +
        `audit ${audit.ok ? 'whole' : 'broken'}`,
    )
    return lost.length === 0 && audit.ok
  } finally {
    await stack.stop()
  }
}
