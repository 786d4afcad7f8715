import MiniSearch from 'minisearch'
import { lazy } from '../../../shared/lazy.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import { definitionOf } from './tool.ts'

/** A tool as find-tools describes it: enough to call it without the list. */
interface FoundTool {
  name: string
  description: string
  effect: Operation['effect']
  input_schema: object
}

export interface FoundTools {
  tools: FoundTool[]
  /** Number of tools that match, including those beyond the limit. */
  total: number
}

/** Searches the tools that a caller may use. */
export interface ToolFinder {
  /** Groups that a search can be narrowed to, sorted. */
  groups: readonly string[]
  find(query: string, options: { group?: string | undefined; limit: number }): FoundTools
}

const WORD = /[^\p{L}\p{N}]+/u
/** Shorter words match as they are: hundreds of words begin with each letter. */
const MIN_PREFIX_CHARS = 3
/** Factor of a tool that the query names. */
const NAMED = 100
/** A hit by name is worth more than one by description. */
const BOOST = { name: 4, group: 2, fields: 1, description: 1 }

/** Creates a finder; its index is built with the first search. */
export const createToolFinder = (
  operations: readonly Operation[],
  groups: readonly string[],
): ToolFinder => {
  const byId = new Map(operations.map(each => [each.id, each]))
  const index = lazy(() => buildIndex(operations))
  return {
    groups,
    find: (query, { group, limit }) => {
      const words = [...new Set(query.toLowerCase().split(/\s+/))]
      const hits = index()
        .search(words.join(' '), {
          boost: BOOST,
          prefix: isLong,
          fuzzy: word => isLong(word) && 0.2,
          boostDocument: id => (words.includes(id) ? NAMED : 1),
        })
        .flatMap(({ id }) => byId.get(id) ?? [])
        .filter(each => group === undefined || each.group === group)
      return { tools: hits.slice(0, limit).map(describeTool), total: hits.length }
    },
  }
}

const isLong = (word: string): boolean => word.length >= MIN_PREFIX_CHARS

const buildIndex = (operations: readonly Operation[]): MiniSearch => {
  const index = new MiniSearch({
    fields: ['name', 'group', 'description', 'fields'],
    tokenize: text => text.split(WORD).filter(word => word !== ''),
  })
  index.addAll(
    operations.map(({ id, group = '', description, input }) => {
      const fields = Object.keys(input.shape).join(' ').replaceAll('_', ' ')
      return { id, name: id.replaceAll(/[-_]/g, ' '), group, description, fields }
    }),
  )
  return index
}

const describeTool = (operation: Operation): FoundTool => {
  const { name, description = '', inputSchema } = definitionOf(operation)
  return { name, description, effect: operation.effect, input_schema: inputSchema }
}
