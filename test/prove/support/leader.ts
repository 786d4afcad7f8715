import { waitUntil } from '../../support/wait-until.ts'
import type { ReplicaProcess, ReplicaSet } from './replica-set.ts'

/** Waits until one of the coordinators leads, and returns it. */
export const waitForLeader = (
  set: ReplicaSet,
  replicas: readonly ReplicaProcess[] = set.replicas,
): Promise<ReplicaProcess> =>
  waitUntil('a coordinator leads', async () => {
    const leading = await Promise.all(replicas.map(replica => leads(set, replica)))
    return replicas[leading.indexOf(true)]
  })

export const leads = async (set: ReplicaSet, { url }: ReplicaProcess): Promise<boolean> => {
  const headers = { authorization: `Bearer ${set.keys.operator}` }
  const text = await (await fetch(`${url}/metrics`, { headers })).text()
  return /^shoal_leader 1$/m.test(text)
}
