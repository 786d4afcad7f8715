import type { Command } from 'commander'
import type { PrintableRows } from '../../../shared/print.ts'
import type { Keys } from '../../access/keys/keys.ts'
import { createPerson, listPeople, resolvePersonId } from '../../access/people/people.ts'
import { createTenant, listTenants } from '../../access/people/tenants.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import type { Store } from '../../kernel/store/store.ts'
import { type OnStore, openKeys } from './on-store.ts'
import { personView, tenantView } from './views.ts'

export const addTenantCommands = (tenant: Command, onStore: OnStore): void => {
  tenant
    .command('create <id>')
    .description('add a tenant')
    .option('--name <name>', 'name of the tenant; the id by default')
    .action((id: string, { name = id }: { name?: string }) =>
      onStore(async ({ ledger }, by) => tenantView(await createTenant(ledger, { id, name }, by))),
    )
  addEnabling(tenant, onStore, async (keys, id, enabled, by) =>
    tenantView(await keys.enableTenant(id, enabled, by)),
  )
  tenant
    .command('list')
    .description('list tenants by id')
    .action(() => onStore(async ({ ledger }) => (await listTenants(ledger, 'all')).map(tenantView)))
}

export const addPersonCommands = (person: Command, onStore: OnStore): void => {
  person
    .command('create')
    .description('add a person')
    .requiredOption('--tenant <id>', 'tenant of the person')
    .requiredOption('--name <name>', 'name of the person')
    .action(({ tenant, name }: { tenant: string; name: string }) =>
      onStore(async ({ ledger }, by) =>
        personView(await createPerson(ledger, { tenantId: tenant, name }, by)),
      ),
    )
  addEnabling(person, onStore, async (keys, idOrName, enabled, by, { ledger }) => {
    const id = await resolvePersonId(ledger, idOrName, 'all')
    return personView(await keys.enablePerson(id, enabled, 'all', by))
  })
  person
    .command('list')
    .description('list persons, oldest first')
    .action(() => onStore(async ({ ledger }) => (await listPeople(ledger, 'all')).map(personView)))
}

const ENABLING = {
  disable: 'disable a person or tenant and all its keys',
  enable: 're-enable a person or tenant and its keys',
}

const addEnabling = (
  group: Command,
  onStore: OnStore,
  enable: (
    keys: Keys,
    id: string,
    enabled: boolean,
    by: Actor,
    store: Store,
  ) => Promise<PrintableRows>,
): void => {
  for (const verb of ['disable', 'enable'] as const)
    group
      .command(`${verb} <id>`)
      .description(ENABLING[verb])
      .action((id: string) =>
        onStore(async (store, by) =>
          enable(await openKeys(store), id, verb === 'enable', by, store),
        ),
      )
}
