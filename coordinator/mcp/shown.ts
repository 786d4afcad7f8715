import type { Prompt, Resource, ResourceTemplateType, Tool } from '@modelcontextprotocol/server'
import { LRUCache } from 'lru-cache'
import type { Key } from '../keys/key.ts'
import { mayCall } from '../operations/invoke/access.ts'
import type { Operation } from '../operations/operation.ts'
import { prompts } from './prompts/index.ts'
import type { OperatorPrompt } from './prompts/prompt.ts'
import { isReadable, resourcesOf, templatesOf } from './resource.ts'
import { toolOf } from './tool.ts'
import { chosenTools } from './toolsets.ts'

/** Lists for callers with the same roles and the same choice of tools. */
export interface VisibleLists {
  /** The chosen groups of tools by their names, also those that these callers may not use. */
  byName: ReadonlyMap<string, Operation>
  /** Operations that are readable by an address alone, access permitting. */
  addressed: readonly Operation[]
  /** Usable tools, in the order of the list; the other lists follow from them. */
  tools: readonly Tool[]
  readable: readonly Operation[]
  resources: readonly Resource[]
  templates: readonly ResourceTemplateType[]
  offered: readonly OperatorPrompt[]
  prompts: readonly Prompt[]
}

/** Choices of toolsets are the client's, so they are bounded. */
const CAPACITY = 64

/**
 * Creates the lists once per combination of toolsets and roles: apart from these they depend only
 * on the registered operations, which do not change while the process lives. Throws the errors of
 * `chosenTools`.
 */
export const createShown = (
  operations: readonly Operation[],
): ((query: unknown, key: Pick<Key, 'roles'>) => VisibleLists) => {
  const kept = new LRUCache<string, VisibleLists>({ max: CAPACITY })
  return (query, key) => {
    const { toolsets } = (query ?? {}) as { toolsets?: unknown }
    const name = JSON.stringify([toolsets, key.roles.toSorted()])
    const shown = kept.get(name) ?? buildLists(chosenTools(query, operations), key)
    kept.set(name, shown)
    return shown
  }
}

const buildLists = (chosen: readonly Operation[], key: Pick<Key, 'roles'>): VisibleLists => {
  const allowed = chosen.filter(operation => mayCall(operation, key))
  const addressed = chosen.filter(isReadable)
  const readable = addressed.filter(each => allowed.includes(each))
  const ids = new Set(allowed.map(({ id }) => id))
  const offered = prompts.filter(({ tools }) => tools.every(tool => ids.has(tool)))
  return {
    byName: new Map(chosen.map(each => [each.id, each])),
    addressed,
    readable,
    offered,
    tools: allowed.map(definitionOf),
    resources: resourcesOf(readable),
    templates: templatesOf(readable),
    prompts: offered.map(promptView),
  }
}

/** Cache of tools by operation: schemas are large and the same for every caller. */
const definitions = new WeakMap<Operation, Tool>()
const definitionOf = (operation: Operation): Tool => {
  const known = definitions.get(operation) ?? toolOf(operation)
  definitions.set(operation, known)
  return known
}

const promptView = ({ name, title, description, arguments: fields }: OperatorPrompt): Prompt => ({
  name,
  title,
  description,
  arguments: fields.map(field => ({ ...field })),
})
