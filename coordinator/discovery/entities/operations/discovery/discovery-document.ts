import * as z from 'zod'
import { findEntryFault, isPublicNetwork, normaliseTarget } from '../../../../../discovery/scope.ts'
import { ShoalError } from '../../../../../shared/errors.ts'
import {
  DiscoverySettings,
  MAX_SCOPE_ENTRIES,
  ScopeEntry,
} from '../../../../../shared/wire/scan-scope.ts'
import { CellRef } from '../../../../fleet/cells/cell-field.ts'
import { type ConfigDocument, FLEET } from '../../../../fleet/control/config-store.ts'
import type { ControlViews } from '../../../../fleet/control/open.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'

/** Cells that an entry is for: one, those with a tag, or all. */
export const AppliesTo = {
  cell_id: CellRef.exactOptional().describe('Only this cell.'),
  tag: z.string().min(1).max(64).exactOptional().describe('All cells with this tag.'),
}

/** Target of an entry, in any spelling. */
export const Target = z
  .string()
  .min(1)
  .max(253)
  .describe('Network, address or name of a host: `192.168.1.0/24`, `printer.lan`.')

/** Cells that a setting is for, as answers show them. */
const AppliedView = z.object({
  applies_to: z.enum(['fleet', 'tag', 'cell']),
  name: z.string().nullable().describe('The tag or the id of the cell; null for the fleet.'),
})

/** An entry with the cells that it is for. */
export const ScopeEntryView = z.object({
  target: z.string(),
  is_forced: z.boolean().describe('True for a network that is larger than a /22.'),
  ...AppliedView.shape,
})
type ScopeEntryView = z.infer<typeof ScopeEntryView>

export const AutoRunView = z.object({ state: z.enum(['on', 'off']), ...AppliedView.shape })
type AutoRunView = z.infer<typeof AutoRunView>

interface AppliesToInput {
  cell_id?: string
  tag?: string
}

/** @throws ShoalError invalid_request with the reason */
export const createEntry = (text: string, isForced: boolean): ScopeEntry => {
  const entry = { target: normaliseTarget(text), ...(isForced && { is_forced: true }) }
  const fault = findEntryFault(entry)
  if (fault === undefined && !isForced) requirePrivate(entry.target)
  if (fault === undefined && ScopeEntry.safeParse(entry).success) return entry
  throw new ShoalError('invalid_request', fault ?? `${entry.target} cannot be an entry`, {
    param: 'target',
  })
}

/** A mistyped network must not send probes to strangers. */
const requirePrivate = (target: string): void => {
  if (!isPublicNetwork(target)) return
  throw new ShoalError('invalid_request', `${target} is a network of public addresses`, {
    param: 'target',
    reason: 'public_network',
    next: `shoal discover scope add ${target} --force`,
  })
}

/** The document that the entries of these cells are in. */
const documentKeyOf = ({
  cell_id,
  tag,
}: AppliesToInput): Pick<ConfigDocument, 'scope' | 'name'> => {
  if (cell_id !== undefined && tag !== undefined)
    throw new ShoalError('invalid_request', 'give cell_id or tag, not both', { param: 'tag' })
  if (cell_id !== undefined) return { scope: 'cell', name: cell_id }
  return tag === undefined ? { scope: 'fleet', name: FLEET } : { scope: 'tag', name: tag }
}

export const listScopeEntries = ({ scope, name, document }: ConfigDocument): ScopeEntryView[] =>
  (readSettings(document).scope ?? []).map(({ target, is_forced = false }) => ({
    target,
    is_forced,
    applies_to: scope,
    name: scope === 'fleet' ? null : name,
  }))

/** State of auto-run in a document; none where it says nothing of it. */
export const listAutoRun = ({ scope, name, document }: ConfigDocument): AutoRunView[] => {
  const { auto_run } = readSettings(document)
  if (auto_run === undefined) return []
  const applies = { applies_to: scope, name: scope === 'fleet' ? null : name }
  return [{ state: auto_run ? 'on' : 'off', ...applies }]
}

const readSettings = ({ discovery }: Record<string, unknown>): DiscoverySettings =>
  DiscoverySettings.safeParse(discovery ?? {}).data ?? {}

/** @throws ShoalError conflict for settings of a newer coordinator, of which a change would lose some */
const readForChange = ({ discovery }: Record<string, unknown>): DiscoverySettings => {
  const { data } = DiscoverySettings.safeParse(discovery ?? {})
  if (data !== undefined) return data
  throw new ShoalError(
    'conflict',
    'these discovery settings were made by a newer coordinator and contain unknown fields; change them there',
  )
}

/**
 * Changes the settings of discovery in one document, at the version that this coordinator knows.
 * @throws ShoalError conflict when somebody else changed it meanwhile, or a newer coordinator made it
 */
export const changeDiscovery = (
  input: AppliesToInput,
  change: (settings: DiscoverySettings) => DiscoverySettings,
  { configs, actor }: Pick<Context, 'actor'> & Pick<ControlViews, 'configs'>,
): Promise<ConfigDocument> => {
  const key = documentKeyOf(input)
  const before = configs.list().find(({ scope, name }) => scope === key.scope && name === key.name)
  const document = before?.document ?? {}
  const discovery = change(readForChange(document))
  const changed = { ...key, document: { ...document, discovery }, ifVersion: before?.version ?? 0 }
  return configs.set(changed, actor)
}

/** @throws ShoalError conflict when somebody else changed it meanwhile */
export const changeScope = async (
  input: AppliesToInput,
  change: (entries: readonly ScopeEntry[]) => readonly ScopeEntry[],
  context: Pick<Context, 'actor'> & Pick<ControlViews, 'configs'>,
): Promise<{ entries: ScopeEntryView[] }> => {
  const changed = await changeDiscovery(
    input,
    settings => {
      const scope = [...change(settings.scope ?? [])]
      if (scope.length <= MAX_SCOPE_ENTRIES) return { ...settings, scope }
      throw new ShoalError('invalid_request', `a scope has at most ${MAX_SCOPE_ENTRIES} entries`)
    },
    context,
  )
  return { entries: listScopeEntries(changed) }
}
