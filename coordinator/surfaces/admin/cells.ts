import type { Command } from 'commander'
import { joinTokenText } from '../../../shared/join-token.ts'
import { Cells } from '../../fleet/enrolment/cells.ts'
import {
  createToken,
  listTokens,
  requireSingleUse,
  revokeToken,
} from '../../fleet/enrolment/join-tokens.ts'
import type { Store } from '../../kernel/store/store.ts'
import { parseCount } from './flags.ts'
import type { Identify } from './init.ts'
import { type OnStore, openClock } from './on-store.ts'
import { cellView, tokenView } from './views.ts'

const TTL_MINUTES = 60

interface TokenParts {
  identify: Identify
  joinUrl: () => string
}

export const addTokenCommands = (
  token: Command,
  onStore: OnStore,
  { identify, joinUrl }: TokenParts,
): void => {
  token
    .command('create')
    .description('create a join token for new cells')
    .option(
      '--uses <n>',
      'number of machines that may join; more than one needs an approval',
      parseCount,
      1,
    )
    .option('--ttl-minutes <n>', 'lifetime of the token', parseCount, TTL_MINUTES)
    .option('--tag <tag...>', 'tags for the new cells', [])
    .action(({ uses, ttlMinutes, tag }: { uses: number; ttlMinutes: number; tag: string[] }) =>
      onStore(async (store, by) => {
        requireSingleUse(uses)
        const wanted = { uses, ttlMinutes, tags: tag }
        const { token, secret } = await createToken(store.ledger, wanted, by)
        const { fingerprint } = (await identify(store)) ?? {}
        const text = joinTokenText({ secret, fingerprint })
        const join = `shoald join ${joinUrl()} --token ${text}`
        return { ...tokenView(token), secret: text, join }
      }),
    )
  token
    .command('list')
    .description('list tokens, oldest first')
    .action(() => onStore(async ({ ledger }) => (await listTokens(ledger)).map(tokenView)))
  token
    .command('revoke <id>')
    .description('revoke a token; cells that joined with it stay')
    .action((id: string) =>
      onStore(async ({ ledger }, by) => tokenView(await revokeToken(ledger, { id }, by))),
    )
}

export const addCellCommands = (cell: Command, onStore: OnStore): void => {
  cell
    .command('list')
    .description('list cells, oldest first')
    .option('--all', 'include revoked cells')
    .action(({ all = false }: { all?: boolean }) =>
      onStore(async store => {
        const cells = await (await openCells(store)).list()
        return cells.filter(({ revokedAt }) => all || revokedAt === undefined).map(cellView)
      }),
    )
  cell
    .command('revoke <id>')
    .description("revoke a cell's credential permanently")
    .action((id: string) =>
      onStore(async (store, by) => cellView(await (await openCells(store)).revoke(id, by))),
    )
  cell
    .command('release <id>')
    .description('release a cell from quarantine; stop its copy first')
    .action((id: string) =>
      onStore(async (store, by) => cellView(await (await openCells(store)).release(id, by))),
    )
}

const openCells = async (store: Store): Promise<Cells> =>
  new Cells({ store, now: await openClock(store) })
