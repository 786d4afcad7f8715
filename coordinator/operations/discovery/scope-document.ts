import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import {
  DiscoverySettings,
  MAX_SCOPE_ENTRIES,
  ScopeEntry,
} from '../../../shared/wire/scan-scope.ts'
import { type ConfigDocument, FLEET } from '../../control/config-store.ts'
import type { Context } from '../context.ts'
import { Id } from '../fields.ts'

/** Cells that an entry is for: one, those with a tag, or all. */
export const AppliesTo = {
  cell_id: Id.exactOptional().describe('Only this cell.'),
  tag: z.string().min(1).max(64).exactOptional().describe('All cells with this tag.'),
}

export const Target = ScopeEntry.shape.target

/** An entry with the cells that it is for. */
export const ScopeEntryView = z.object({
  target: z.string(),
  is_forced: z.boolean().describe('True for a network that is larger than a /22.'),
  applies_to: z.enum(['fleet', 'tag', 'cell']),
  name: z.string().nullable().describe('The tag or the id of the cell; null for the fleet.'),
})
type ScopeEntryView = z.infer<typeof ScopeEntryView>

interface AppliesToInput {
  cell_id?: string
  tag?: string
}

/** The document that the entries of these cells are in. */
const documentKeyOf = ({
  cell_id,
  tag,
}: AppliesToInput): Pick<ConfigDocument, 'scope' | 'name'> => {
  if (cell_id !== undefined && tag !== undefined)
    throw new ShoalError('invalid_request', 'name a cell or a tag, not both', { param: 'tag' })
  if (cell_id !== undefined) return { scope: 'cell', name: cell_id }
  return tag === undefined ? { scope: 'fleet', name: FLEET } : { scope: 'tag', name: tag }
}

export const listScopeEntries = ({ scope, name, document }: ConfigDocument): ScopeEntryView[] =>
  entriesOf(document).map(({ target, is_forced = false }) => ({
    target,
    is_forced,
    applies_to: scope,
    name: scope === 'fleet' ? null : name,
  }))

const entriesOf = ({ discovery }: Record<string, unknown>): readonly ScopeEntry[] =>
  DiscoverySettings.safeParse(discovery ?? {}).data?.scope ?? []

/**
 * Changes the entries of one document, at the version that this coordinator knows.
 * @throws ShoalError conflict when somebody else changed it meanwhile
 */
export const changeScope = async (
  input: AppliesToInput,
  change: (entries: readonly ScopeEntry[]) => readonly ScopeEntry[],
  { configs, actor }: Pick<Context, 'configs' | 'actor'>,
): Promise<{ entries: ScopeEntryView[] }> => {
  const key = documentKeyOf(input)
  const before = configs.list().find(({ scope, name }) => scope === key.scope && name === key.name)
  const document = before?.document ?? {}
  const scope = change(entriesOf(document))
  if (scope.length > MAX_SCOPE_ENTRIES)
    throw new ShoalError('invalid_request', `a scope has at most ${MAX_SCOPE_ENTRIES} entries`)
  const discovery = { ...(document.discovery as object), scope }
  const changed = { ...key, document: { ...document, discovery }, ifVersion: before?.version ?? 0 }
  return { entries: listScopeEntries(await configs.set(changed, actor)) }
}
