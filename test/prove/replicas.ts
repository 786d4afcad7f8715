import { setTimeout as sleep } from 'node:timers/promises'

/** Rest between two proofs, in which the processes of the last one end. */
const REST_MS = 1000
const PROOFS = ['quota', 'streams', 'kills', 'partition', 'histories', 'versions'] as const

/** Every proof of several coordinators on one PostgreSQL, in its default size. */
export const main = async (): Promise<boolean> => {
  const failed: string[] = []
  for (const proof of PROOFS) {
    console.log(`# replicas-${proof}`)
    const { main: prove } = (await import(`./replicas-${proof}.ts`)) as {
      main: (argv: string[]) => Promise<boolean>
    }
    const holds = await prove([]).catch(error => {
      console.log(error)
      return false
    })
    if (!holds) failed.push(proof)
    await sleep(REST_MS)
  }
  console.log(failed.length === 0 ? 'every proof holds' : `these fail: ${failed.join(', ')}`)
  return failed.length === 0
}
