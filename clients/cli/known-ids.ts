import type { Api } from './api.ts'
import type { DescribedOperation } from './document.ts'
import type { Profiles } from './profiles.ts'

interface KnownFrom {
  operations: readonly DescribedOperation[]
  api: Pick<Api, 'call'>
  profiles: () => Profiles
}

/** Lists that are not called like the ids in them. */
const LISTS: Record<string, readonly string[]> = {
  request: ['gates', 'requests'],
  name: ['profile', 'list'],
  estop: ['devices', 'estops'],
  formation: ['swarm', 'list'],
  entity: ['discover', 'list'],
  pin: ['discover', 'pins'],
  run: ['flows', 'runs'],
  job: ['queue', 'list'],
  node: ['graph', 'nodes'],
  layer: ['graph', 'layers'],
  register: ['registers', 'kinds'],
}

/**
 * Ids that a field of this name can take, from its list operation. The coordinator describes which
 * list that is (`cell_id` and `cell` from `cells list`), so new lists need no change here.
 */
export const knownIds = async (
  name: string,
  { operations, api, profiles }: KnownFrom,
): Promise<string[]> => {
  if (name === 'profile' || name === 'name') return Object.keys(profiles().profiles)
  const id = name.endsWith('_id') ? name : `${name}_id`
  if (id === 'model_id') return idsIn(await api.call({ method: 'GET', path: '/v1/models' }), 'id')
  if (id === 'skill_id') return skillIds(operations)
  const words = listOf(name)
  const list = operations.find(
    each => each.method === 'GET' && each.words.join(' ') === words.join(' '),
  )
  if (list === undefined || list.arguments.length > 0) return []
  return idsIn(await api.call({ method: 'GET', path: list.path }), id)
}

/** Command that lists the values of a field. */
export const listOf = (name: string): readonly string[] => {
  const stem = name.replace(/_id$/, '')
  return LISTS[stem] ?? [`${stem}s`, 'list']
}

/** Every skill is a command: no question is needed. */
const skillIds = (operations: readonly DescribedOperation[]): string[] =>
  operations.flatMap(({ words: [group, verb, id] }) =>
    group === 'skills' && verb === 'run' && id !== undefined ? [id] : [],
  )

/** The ids in the one list of an answer. */
const idsIn = (answer: unknown, id: string): string[] => {
  const rows = Object.values(answer as object).find(Array.isArray) ?? []
  return rows.flatMap((row: Record<string, unknown>) => {
    const value = row[id] ?? row.id
    return typeof value === 'string' ? [value] : []
  })
}
