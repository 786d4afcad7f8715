import type { Prompt, Resource, ResourceTemplateType, Tool } from '@modelcontextprotocol/server'
import { LRUCache } from 'lru-cache'
import { mayCall } from '../../calls/invoke/access.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import { FINDER_TOOLS } from './finder-tools.ts'
import { prompts } from './prompts/index.ts'
import type { OperatorPrompt } from './prompts/prompt.ts'
import { isReadable, resourcesOf, templatesOf } from './resource.ts'
import { definitionOf, withoutOutput } from './tool.ts'
import { createToolFinder, type ToolFinder } from './tool-finder.ts'
import { chooseTools, listGroups, type ToolChoice } from './toolsets.ts'

/** Lists for callers with the same roles and the same choice of tools. */
export interface VisibleLists {
  /** The chosen groups of tools by their names, also those that these callers may not use. */
  byName: ReadonlyMap<string, Operation>
  /** Operations that are readable by an address alone, access permitting. */
  addressed: readonly Operation[]
  /** Search over every tool that these callers may use; set where find-tools is listed. */
  finder: ToolFinder | undefined
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
 * `chooseTools`.
 */
export const createShown = (
  operations: readonly Operation[],
): ((query: unknown, key: Pick<Key, 'roles'>) => VisibleLists) => {
  const kept = new LRUCache<string, VisibleLists>({ max: CAPACITY })
  return (query, key) => {
    const { toolsets, schemas } = (query ?? {}) as { toolsets?: unknown; schemas?: unknown }
    const name = JSON.stringify([toolsets, schemas, key.roles.toSorted()])
    const shown = kept.get(name) ?? buildLists(operations, chooseTools(query, operations, key), key)
    kept.set(name, shown)
    return shown
  }
}

const buildLists = (
  operations: readonly Operation[],
  { listed, hasFinder, hasOutputs }: ToolChoice,
  key: Pick<Key, 'roles'>,
): VisibleLists => {
  const allowed = listed.filter(operation => mayCall(operation, key))
  const addressed = listed.filter(isReadable)
  const readable = addressed.filter(each => allowed.includes(each))
  const ids = new Set(allowed.map(({ id }) => id))
  const offered = prompts.filter(({ tools }) => tools.every(tool => ids.has(tool)))
  const definitions = [...(hasFinder ? FINDER_TOOLS : []), ...allowed.map(definitionOf)]
  return {
    byName: new Map((hasFinder ? operations : listed).map(each => [each.id, each])),
    addressed,
    readable,
    offered,
    finder: hasFinder ? createFinder(operations, key) : undefined,
    tools: hasOutputs ? definitions : definitions.map(withoutOutput),
    resources: resourcesOf(readable),
    templates: templatesOf(readable),
    prompts: offered.map(promptView),
  }
}

const createFinder = (operations: readonly Operation[], key: Pick<Key, 'roles'>): ToolFinder => {
  const allowed = operations.filter(operation => mayCall(operation, key))
  return createToolFinder(allowed, listGroups(allowed))
}

const promptView = ({ name, title, description, arguments: fields }: OperatorPrompt): Prompt => ({
  name,
  title,
  description,
  arguments: fields.map(field => ({ ...field })),
})
