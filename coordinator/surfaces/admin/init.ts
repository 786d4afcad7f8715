import type { Command } from 'commander'
import { initialise } from '../../access/keys/bootstrap.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { ServerIdentity } from '../../kernel/tls/own-certificate.ts'
import type { OnStore } from './on-store.ts'
import { keyView } from './views.ts'

/** Identity of the coordinators on a store; created when it does not exist yet. */
export type Identify = (store: Store) => Promise<ServerIdentity | undefined>

export const addInit = (program: Command, onStore: OnStore, identify: Identify): void => {
  program
    .command('init')
    .description('create the first tenant, and a person and key with every role')
    .option('--tenant <id>', 'id of the tenant', 'main')
    .option('--person <name>', 'name of the person', 'operator')
    .action(({ tenant, person }: { tenant: string; person: string }) =>
      onStore(async (store, by) => {
        const names = { tenantId: tenant, personName: person }
        const { key, secret } = await initialise(store, names, by)
        const { caFile } = (await identify(store)) ?? {}
        return { ...keyView(key), secret, ...(caFile && { ca_file: caFile }) }
      }, true),
    )
}
