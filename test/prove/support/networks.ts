import { join } from 'node:path'
import type { Cluster } from '../../support/postgres.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { NamespaceNetwork } from './namespace-network.ts'
import type { Network } from './network.ts'

/** Settings of PostgreSQL for the networks, and a function that opens them once it runs. */
interface NetworkPlan {
  settings: Record<string, string>
  files: Record<string, string>
  open(cluster: Cluster, port: number): Promise<Network>
}

/** Namespaces where this process may create them, else proxies. */
export const planNetworks = (count: number): NetworkPlan => {
  const spaces = NamespaceNetwork.create(count)
  if (spaces === undefined) return { settings: {}, files: {}, open: openProxy }
  let next = 0
  return {
    settings: { listen_addresses: spaces.map(({ hostAddress }) => hostAddress).join() },
    files: { 'pg_hba.conf': `local all all trust\nhost all all ${spaces[0]?.subnet} trust\n` },
    open: async (_, port) => {
      const space = spaces[next++] as NamespaceNetwork
      await space.openDoor(port)
      return space
    },
  }
}

const openProxy = async (cluster: Cluster): Promise<Network> => {
  let close = async (): Promise<void> => {}
  const teardown = (closeProxy: () => Promise<void>): void => {
    close = closeProxy
  }
  const proxy = await TcpProxy.open({ teardown } as never, {
    path: join(cluster.folder, '.s.PGSQL.5432'),
  })
  return {
    kind: 'TCP proxies',
    storePort: proxy.port,
    wrap: [],
    blackhole: () => proxy.blackhole(),
    heal: () => proxy.heal(),
    close: () => close(),
  }
}
