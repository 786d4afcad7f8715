import { userInfo } from 'node:os'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { TIER_NAMES, type TierName } from '../shared/catalogue.ts'
import { ShoalError } from '../shared/errors.ts'
import { joinTokenText } from '../shared/join-token.ts'
import { columnsOf, type Format, type Printable, printed } from '../shared/print.ts'
import { cellView, keyView, personView, tenantView, tokenView } from './admin/views.ts'
import { acceptAudit } from './audit/accept.ts'
import { type Actor, createAudit } from './audit/audit.ts'
import { initialise } from './keys/bootstrap.ts'
import { createCells } from './keys/cells.ts'
import { createToken, listTokens, requireSingleUse, revokeToken } from './keys/join-tokens.ts'
import { KEY_KINDS, type KeyKind, ROLES, type Role } from './keys/key.ts'
import { createKeys } from './keys/keys.ts'
import { createPerson, listPeople } from './keys/people.ts'
import type { Signing } from './keys/signing.ts'
import { createTenant, listTenants } from './keys/tenants.ts'
import type { Store } from './store/store.ts'
import type { ServerIdentity } from './tls/own-certificate.ts'

export { bootstrap, type DemoKeys } from './keys/bootstrap.ts'

/** The audit's name for whoever runs a program on the coordinator's machine. */
export const localActor = (): Actor => ({ actor: `local:${userInfo().username}` })

type Run = (store: Store, by: Actor) => Promise<Printable>

const TTL_MINUTES = 60

/** Opens the store; one that is not there is only made when `make` is given. */
export type OpenStore = (options: { make: boolean }) => Promise<Store>

/**
 * Commands that work on the store itself, also while the coordinator runs: it notices within half
 * a second. Secrets are printed once and are nowhere else. Failures are ShoalErrors.
 */
export const addAdminCommands = (
  program: Command,
  open: OpenStore,
  write: (text: string) => void = text => void process.stdout.write(text),
  identify: Identify = async () => undefined,
  sign: OpenSigning = withoutSigning,
): void => {
  const format = new Option('--format <format>', 'how to print').choices(['text', 'json'])
  program.addOption(format.default('text'))

  const onStore: OnStore = async (run, make = false) => {
    const store = await open({ make })
    try {
      const value = await run(store, localActor())
      const { format } = program.opts<{ format: Format }>()
      write(printed(value, format, columnsOf(process.stdout)))
    } finally {
      await store.close()
    }
  }

  addInit(program, onStore, identify)
  addKeyCommands(program.command('key').description('API keys'), onStore)
  addTokenCommands(program.command('token').description('join tokens of cells'), onStore, identify)
  addCellCommands(program.command('cell').description('enrolled cells'), onStore)
  addTenantCommands(program.command('tenant').description('tenants'), onStore)
  addPersonCommands(program.command('person').description('persons'), onStore)
  addAuditCommands(program.command('audit').description('the audit chain'), onStore, sign)
}

type OnStore = (run: Run, make?: boolean) => Promise<void>
/** What the coordinator proves itself with; made when it is not there yet. */
type Identify = () => Promise<ServerIdentity | undefined>

/** The signing key of the coordinator whose store it is. */
type OpenSigning = () => Promise<Pick<Signing, 'publicKey' | 'rotate'>>

const withoutSigning: OpenSigning = () =>
  Promise.reject(new ShoalError('config_invalid', 'there is no signing key at hand'))

/** Only `authenticate` and enrolment say something to a log, and nothing here calls them. */
const logger = { warn: () => {} }

const addInit = (program: Command, onStore: OnStore, identify: Identify): void => {
  program
    .command('init')
    .description('make the first tenant, and a person and key that may do everything')
    .option('--tenant <id>', 'id of the tenant', 'main')
    .option('--person <name>', 'name of the person', 'operator')
    .action(({ tenant, person }: { tenant: string; person: string }) =>
      onStore(async (store, by) => {
        const names = { tenantId: tenant, personName: person }
        const { key, secret } = await initialise(store, names, by)
        const { caFile } = (await identify()) ?? {}
        return { ...keyView(key), secret, ...(caFile && { ca_file: caFile }) }
      }, true),
    )
}

interface KeyOptions {
  tenant: string
  furtherTenant: string[]
  person: string
  tier: TierName
  kind: KeyKind
  role: Role[]
  label: string
  expiresDays?: number
}

const addKeyCommands = (key: Command, onStore: OnStore): void => {
  key
    .command('create')
    .description('issue a key')
    .requiredOption('--tenant <id>', 'home tenant')
    .option('--further-tenant <id...>', 'tenants the key may also act for', [])
    .requiredOption('--person <id>', 'who answers for it')
    .addOption(choice('--tier <tier>', TIER_NAMES).default('free'))
    .addOption(choice('--kind <kind>', KEY_KINDS).default('person'))
    .addOption(choice('--role <role...>', ROLES).default(['client']))
    .option('--label <text>', 'what it is for', '')
    .option('--expires-days <days>', 'days it is good for', count)
    .action((options: KeyOptions) =>
      onStore(async (store, by) => {
        const { key, secret } = await createKeys({ store, logger }).create(specOf(options), by)
        return { ...keyView(key), secret }
      }),
    )
  key
    .command('list')
    .description('list keys, oldest first')
    .action(() =>
      onStore(async store => (await createKeys({ store, logger }).list('all')).map(keyView)),
    )
  key
    .command('tier <id>')
    .description('move a key to another tier')
    .addOption(choice('--tier <tier>', TIER_NAMES).makeOptionMandatory())
    .action((id: string, { tier }: { tier: TierName }) =>
      onStore(async (store, by) =>
        keyView(await createKeys({ store, logger }).setTier(id, tier, 'all', by)),
      ),
    )
  key
    .command('revoke <id>')
    .description('end a key for good')
    .action((id: string) =>
      onStore(async (store, by) =>
        keyView(await createKeys({ store, logger }).revoke(id, 'all', by)),
      ),
    )
}

const specOf = (options: KeyOptions) => ({
  tenantId: options.tenant,
  furtherTenants: options.furtherTenant,
  personId: options.person,
  tier: options.tier,
  kind: options.kind,
  roles: options.role,
  label: options.label,
  ...(options.expiresDays === undefined
    ? {}
    : { expiresAt: Date.now() + options.expiresDays * 86_400_000 }),
})

const addTokenCommands = (token: Command, onStore: OnStore, identify: Identify): void => {
  token
    .command('create')
    .description('make a token with which machines become cells')
    .option('--uses <n>', 'how many machines; more than one needs an approval', count, 1)
    .option('--ttl-minutes <n>', 'how long it is good', count, TTL_MINUTES)
    .option('--tag <tag...>', 'tags that the cell gets', [])
    .action(({ uses, ttlMinutes, tag }: { uses: number; ttlMinutes: number; tag: string[] }) =>
      onStore(async ({ ledger }, by) => {
        requireSingleUse(uses)
        const { token, secret } = await createToken(ledger, { uses, ttlMinutes, tags: tag }, by)
        const { fingerprint } = (await identify()) ?? {}
        return { ...tokenView(token), secret: joinTokenText({ secret, fingerprint }) }
      }),
    )
  token
    .command('list')
    .description('list tokens, oldest first')
    .action(() => onStore(async ({ ledger }) => (await listTokens(ledger)).map(tokenView)))
  token
    .command('revoke <id>')
    .description('end a token; cells that joined with it stay')
    .action((id: string) =>
      onStore(async ({ ledger }, by) => tokenView(await revokeToken(ledger, id, by))),
    )
}

const addCellCommands = (cell: Command, onStore: OnStore): void => {
  cell
    .command('list')
    .description('list cells, oldest first')
    .option('--all', 'those too that were revoked')
    .action(({ all = false }: { all?: boolean }) =>
      onStore(async store => {
        const cells = await createCells({ store }).list()
        return cells.filter(({ revokedAt }) => all || revokedAt === undefined).map(cellView)
      }),
    )
  cell
    .command('revoke <id>')
    .description("end a cell's credential for good")
    .action((id: string) =>
      onStore(async (store, by) => cellView(await createCells({ store }).revoke(id, by))),
    )
  cell
    .command('release <id>')
    .description('let a cell in quarantine connect again; stop its copy first')
    .action((id: string) =>
      onStore(async (store, by) => cellView(await createCells({ store }).release(id, by))),
    )
}

const addTenantCommands = (tenant: Command, onStore: OnStore): void => {
  tenant
    .command('create <id>')
    .description('add a tenant')
    .option('--name <name>', 'its name; the id by default')
    .action((id: string, { name = id }: { name?: string }) =>
      onStore(async ({ ledger }, by) => tenantView(await createTenant(ledger, { id, name }, by))),
    )
  tenant
    .command('list')
    .description('list tenants by id')
    .action(() => onStore(async ({ ledger }) => (await listTenants(ledger, 'all')).map(tenantView)))
}

const addPersonCommands = (person: Command, onStore: OnStore): void => {
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
  person
    .command('list')
    .description('list persons, oldest first')
    .action(() => onStore(async ({ ledger }) => (await listPeople(ledger, 'all')).map(personView)))
}

const addAuditCommands = (audit: Command, onStore: OnStore, sign: OpenSigning): void => {
  audit
    .command('verify')
    .description('check every link of the chain; fails when one is broken')
    .action(() =>
      onStore(async store => {
        const verdict = await createAudit(store).verify()
        if (verdict.ok) return { ok: true, rows: verdict.rows, head: verdict.head.hash }
        throw new ShoalError('audit_broken', `the audit chain is broken: ${verdict.reason}`)
      }),
    )
  audit
    .command('accept')
    .description('accept the audit as it is, after a restore; with the coordinator stopped')
    .requiredOption('--reason <text>', 'why rows that were seen are gone; kept in the audit')
    .action(({ reason }: { reason: string }) =>
      onStore(async ({ ledger }, by) => ({
        ...(await acceptAudit(ledger, await sign(), reason, by)),
      })),
    )
}

const choice = (flags: string, values: readonly string[]): Option =>
  new Option(flags).choices(values)

const count = (text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError('a whole number from 1 is needed')
  return Number(text)
}
