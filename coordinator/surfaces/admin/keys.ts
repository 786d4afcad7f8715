import type { Command } from 'commander'
import { TIER_NAMES, type TierName } from '../../../shared/catalogue.ts'
import { DAY_MS } from '../../../shared/time.ts'
import { issueAsOwner } from '../../access/keys/bootstrap.ts'
import { resolvePersonId } from '../../access/people/people.ts'
import { KEY_KINDS, type KeyKind, ROLES, type Role } from '../../kernel/declaration/key.ts'
import { choice, parseCount } from './flags.ts'
import { type OnStore, openClock, openKeys } from './on-store.ts'
import { keyView } from './views.ts'

interface KeyOptions {
  tenant: string
  furtherTenant: string[]
  person: string
  tier: TierName
  kind: KeyKind
  role: Role[]
  label: string
  strict?: boolean
  expiresDays?: number
}

export const addKeyCommands = (key: Command, onStore: OnStore): void => {
  key
    .command('create')
    .description(
      'issue a key without a gate; one that approves only while fewer than two people can approve keys',
    )
    .requiredOption('--tenant <id>', 'home tenant')
    .option('--further-tenant <id...>', 'tenants the key may also act for', [])
    .requiredOption('--person <person>', 'id or name of the person accountable for the key')
    .addOption(choice('--tier <tier>', TIER_NAMES).default('free'))
    .addOption(choice('--kind <kind>', KEY_KINDS).default('person'))
    .addOption(choice('--role <role...>', ROLES).default(['client']))
    .option('--label <text>', 'purpose of the key', '')
    .option('--strict', 'refuse inference requests with fields that shoal would ignore')
    .option('--expires-days <days>', 'lifetime of the key in days', parseCount)
    .action((options: KeyOptions) =>
      onStore(async (store, by) => {
        const { tenant } = options
        const person = await resolvePersonId(store.ledger, options.person, { tenantId: tenant })
        const spec = specOf({ ...options, person }, (await openClock(store))())
        const { key, secret } = await issueAsOwner(store, spec, by)
        return { ...keyView(key), secret }
      }),
    )
  key
    .command('list')
    .description('list keys, oldest first')
    .action(() => onStore(async store => (await (await openKeys(store)).list('all')).map(keyView)))
  key
    .command('tier <id>')
    .description('move a key to another tier')
    .addOption(choice('--tier <tier>', TIER_NAMES).makeOptionMandatory())
    .action((id: string, { tier }: { tier: TierName }) =>
      onStore(async (store, by) =>
        keyView(await (await openKeys(store)).setTier(id, tier, 'all', by)),
      ),
    )
  key
    .command('revoke <id>')
    .description('revoke a key permanently')
    .action((id: string) =>
      onStore(async (store, by) => keyView(await (await openKeys(store)).revoke(id, 'all', by))),
    )
}

const specOf = (options: KeyOptions, now: number) => ({
  tenantId: options.tenant,
  furtherTenants: options.furtherTenant,
  personId: options.person,
  tier: options.tier,
  kind: options.kind,
  roles: options.role,
  label: options.label,
  ...(options.strict && { strict: true }),
  ...(options.expiresDays === undefined ? {} : { expiresAt: now + options.expiresDays * DAY_MS }),
})
