import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { verifyAudit } from '../../coordinator/kernel/audit/verify.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { runHistories } from '../support/gate-histories.ts'

/**
 * Random histories of people at the gates against an oracle: an approval is never used without the
 * right number of different people other than who asked, never twice, never late, never for another
 * plan, and is used whenever it may be.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      count: { type: 'string', default: '100000' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      /** A folder in memory spares the disk's waiting; what is proven does not depend on it. */
      folder: { type: 'string', default: tmpdir() },
    },
  })
  const folder = mkdtempSync(join(values.folder, 'shoal-approvals-'))
  const store = await openStore(folder)
  console.log(`seed ${values.seed}`)
  try {
    const wanted = { count: Number(values.count), seed: Number(values.seed) }
    const { histories, steps, used, refused } = await runHistories(store, wanted)
    const { ok } = await verifyAudit(store.ledger)
    console.log(
      `${histories} histories, ${steps} steps: ${used} approvals used, ${refused} uses refused, audit ${ok ? 'whole' : 'broken'}`,
    )
    return ok && used > 0 && refused > 0
  } catch (error) {
    console.log(error)
    return false
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
