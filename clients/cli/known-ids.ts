import type { Api } from './api.ts'
import type { DescribedOperation } from './document.ts'
import { idOf, nameOf } from './printer.ts'
import type { Profiles } from './profiles.ts'

/** An object that a field can name. */
export interface KnownObject {
  id: string
  /** Name that people gave to it, if any. */
  name: string | undefined
}

interface KnownList {
  objects: KnownObject[]
  /** False where the coordinator has more rows than were read. */
  isWhole: boolean
}

export interface KnownFrom {
  operations: readonly DescribedOperation[]
  api: Pick<Api, 'call'>
  /** Profiles of this program, for the commands that name one. */
  profiles?: () => Profiles
  /** Group of the command: `cells`. */
  group: string
  /** Command whose values are completed, `approve`: only objects that it accepts are listed. */
  verb?: string
  /** Values of the command's other path arguments, for lists within something. */
  inPath?: Readonly<Record<string, string>>
}

/** Lists that are not called like the ids in them. */
const LISTS: Record<string, readonly string[]> = {
  request: ['gates', 'requests'],
  estop: ['devices', 'estops'],
  formation: ['swarm', 'list'],
  entity: ['discover', 'list'],
  pin: ['discover', 'pins'],
  run: ['flows', 'runs'],
  job: ['queue', 'list'],
  node: ['graph', 'nodes'],
  layer: ['graph', 'layers'],
  register: ['registers', 'kinds'],
  record: ['registers', 'list'],
  hook: ['tasks', 'hooks', 'list'],
  on: ['cells', 'list'],
}

/** Command that lists the values of a field; `name` and `id` belong to the group of the command. */
export const listOf = (field: string, group = ''): readonly string[] => {
  const stem = field.replace(/_id$/, '')
  if (stem === 'name' || stem === 'id') return [group, 'list']
  return LISTS[stem] ?? [`${stem}s`, 'list']
}

/**
 * Objects that a field of this name can take, from the list that the coordinator describes
 * (`cell_id` and `cell` from `cells list`), so that new lists need no change here. Undefined where
 * there is no such list.
 */
export const listKnownObjects = async (
  field: string,
  from: KnownFrom,
): Promise<KnownList | undefined> => {
  const { operations, api, profiles, group } = from
  if (field === 'profile' || (field === 'name' && group === 'profile'))
    return toWhole(Object.keys(profiles?.().profiles ?? {}).map(toObject))
  const stem = field.replace(/_id$/, '')
  if (stem === 'model') return toWhole(await listModels(from))
  const deviceId = field === 'command' ? from.inPath?.device_id : undefined
  if (deviceId !== undefined) return toWhole(await listVerbs(api, deviceId))
  if (stem === 'skill') return toWhole(listSkills(operations).map(toObject))
  const words = listOf(field, group).join(' ')
  const list = operations.find(each => each.method === 'GET' && each.words.join(' ') === words)
  if (list === undefined) return undefined
  const path = fillKnown(list, from.inPath ?? {})
  return path === undefined ? undefined : listRows(from, list, path, `${stem}_id`)
}

const toObject = (id: string): KnownObject => ({ id, name: undefined })

const toWhole = (objects: KnownObject[]): KnownList => ({ objects, isWhole: true })

/** Lets the coordinator choose the model: the smallest that is sure of its answer. */
export const AUTO_MODEL = 'auto'

/** Ids of the models that can be chatted with, and `auto`. */
export const listChatModels = async (api: Pick<Api, 'get'>): Promise<string[]> => {
  const { models } = (await api.get('/v1/catalogue')) as { models: { id: string; kind: string }[] }
  return [AUTO_MODEL, ...models.filter(({ kind }) => kind === 'chat').map(({ id }) => id)]
}

/** Models that a command accepts; those that the key may use for most of them. */
const listModels = async ({ api, group, verb }: KnownFrom): Promise<KnownObject[]> => {
  const fetchCatalogue = (): Promise<unknown> => api.call({ method: 'GET', path: '/v1/catalogue' })
  if (group === 'chat') return (await listChatModels({ get: fetchCatalogue })).map(toObject)
  if (`${group} ${verb}` !== 'models remove')
    return objectsOf(await api.call({ method: 'GET', path: '/v1/models' }), 'id')
  const { models } = (await fetchCatalogue()) as { models: { id: string; origin?: string }[] }
  // those of the configuration file are removed there
  return models.filter(({ origin }) => origin !== 'configuration').map(({ id }) => toObject(id))
}

/** Commands of a device. */
const listVerbs = async (api: KnownFrom['api'], deviceId: string): Promise<KnownObject[]> => {
  const path = `/v1/devices/${encodeURIComponent(deviceId)}`
  const { commands } = (await api.call({ method: 'GET', path })) as {
    commands: { command: string }[]
  }
  return commands.map(({ command }) => toObject(command))
}

/** Every skill is a command: no request is needed. */
const listSkills = (operations: readonly DescribedOperation[]): string[] =>
  operations.flatMap(({ words: [group, verb, id] }) =>
    group === 'skills' && verb === 'run' && id !== undefined ? [id] : [],
  )

/** Path of a list; undefined where it lies within something that is not known. */
const fillKnown = (
  { path, arguments: names }: DescribedOperation,
  inPath: Readonly<Record<string, string>>,
): string | undefined =>
  names.every(name => (inPath[name] ?? '') !== '')
    ? names.reduce(
        (text, name) => text.replace(`{${name}}`, encodeURIComponent(inPath[name] ?? '')),
        path,
      )
    : undefined

/** Filters of the lists for commands that accept only some of the objects. */
const FILTERS: Record<string, Record<string, unknown>> = {
  'gates approve': { state: 'pending', others: true },
  'gates reject': { state: 'pending', others: true },
  'gates consume': { state: 'approved' },
}

/** Most pages of a list that are read to find one object. */
const MAX_PAGES = 10

/** Rows of all pages, up to a limit. */
const listRows = async (
  { api, group, verb }: KnownFrom,
  { fields }: DescribedOperation,
  path: string,
  idName: string,
): Promise<KnownList> => {
  const limit = fields.find(({ name }) => name === 'limit')?.schema.maximum
  const cursor = fields.find(({ name }) => name === 'before' || name === 'after')?.name
  const objects: KnownObject[] = []
  let query: Record<string, unknown> = {
    ...FILTERS[`${group} ${verb}`],
    ...(typeof limit === 'number' ? { limit } : {}),
  }
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await api.call({ method: 'GET', path, query })
    objects.push(...objectsOf(answer, idName))
    const { next } = answer as { next?: unknown }
    if (next === null || next === undefined) return toWhole(objects)
    if (cursor === undefined) break
    query = { ...query, [cursor]: next }
  }
  return { objects, isWhole: false }
}

/** The rows in the one list of an answer. */
const objectsOf = (answer: unknown, idName: string): KnownObject[] => {
  const rows: unknown[] = Object.values(answer as object).find(Array.isArray) ?? []
  return rows.flatMap(row => {
    if (typeof row === 'string') return [toObject(row)]
    if (typeof row !== 'object' || row === null) return []
    const members = row as Record<string, unknown>
    const own = members[idName]
    const id = typeof own === 'string' ? own : idOf(members)
    return id === undefined ? [] : [{ id, name: nameOf(members) }]
  })
}
