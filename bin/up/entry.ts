import { join } from 'node:path'
import { type Balancer, createBalancer } from './balancer/balancer.ts'
import type { UpOptions } from './options.ts'
import { findFreePorts } from './ports.ts'
import type { ReplicaAddress } from './ready-file.ts'
import { shareSealingKey } from './sealing-key.ts'
import { coordinatorFolder } from './state.ts'

/** Several coordinators and the balancer through which they are reached. */
export interface BalancedEntry {
  /** Address of the balancer. */
  baseUrl: string
  balancer: Balancer
  replicas: readonly (ReplicaAddress & { port: number; folder: string })[]
}

/** Chooses ports, balancer and state folders; undefined for one coordinator, which needs none. */
export const planEntry = async (options: UpOptions): Promise<BalancedEntry | undefined> => {
  const { replicas: count, stateDir } = options
  if (count === 1) return undefined
  const [freePort, ...replicaPorts] = await findFreePorts(count + 1)
  const port = options.port === 0 ? (freePort as number) : options.port
  const replicas = replicaPorts.map((replicaPort, index) => ({
    name: `coordinator-${index + 1}`,
    url: urlOf(replicaPort),
    port: replicaPort,
    folder: coordinatorFolder(stateDir, index + 1),
  }))
  await shareSealingKey(replicas.map(({ folder }) => folder))
  const folder = join(stateDir, 'balancer')
  const isRoot = process.getuid?.() === 0
  const balancer = createBalancer({ folder, port, replicaPorts, isRoot })
  return { baseUrl: urlOf(port), balancer, replicas }
}

const urlOf = (port: number): string => `http://127.0.0.1:${port}`
