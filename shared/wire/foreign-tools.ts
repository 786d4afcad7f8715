import { ShoalError } from '../errors.ts'
import { shortenText } from '../shorten-text.ts'
import type { IgnoredFields } from './ignored.ts'

/** A body whose tools are functions only. */
interface OwnTools {
  body: unknown
  /** Index in the request of each remaining tool; undefined while none was left out. */
  places?: readonly number[]
}

/** Longest type of a tool that an error repeats. */
const MAX_TYPE_LENGTH = 64

type Fields = Record<string, unknown>

/**
 * Leaves out tools that are no functions, such as `web_search`: no model here can call them, and no
 * model has to.
 *
 * @throws ShoalError unsupported_parameter when `tool_choice` forces such a tool
 */
export const leaveForeignTools = (body: unknown, ignored: IgnoredFields): OwnTools => {
  const { tools, tool_choice: choice } = Object(body) as Fields
  const all = Array.isArray(tools) ? tools : []
  const places = all.flatMap((tool, index) => (isForeign(tool) ? [] : [index]))
  const foreign = all.filter(isForeign)
  for (const [index, tool] of all.entries()) {
    if (!isForeign(tool)) continue
    const { type } = tool
    const param = `tools.${index}.type`
    const message = `tools of type ${shortenText(type, MAX_TYPE_LENGTH)} are not supported, only function`
    ignored.add({ name: `tools.${type}`, param, message })
  }
  requireOwnChoice(choice, foreign, places.length)
  const own = foreign.length === 0 ? {} : { tools: places.map(place => all[place]) }
  const more = ownChoice(choice)
  if (foreign.length === 0 && more === choice) return { body }
  const chosen = more === choice ? {} : { tool_choice: more }
  return { body: { ...(body as Fields), ...own, ...chosen }, places }
}

const isForeign = (tool: unknown): tool is { type: string } => {
  const { type } = Object(tool) as Fields
  return typeof type === 'string' && type !== 'function'
}

const CHOICES = ['function', 'allowed_tools']

const requireOwnChoice = (choice: unknown, foreign: readonly unknown[], own: number): void => {
  const { type } = Object(choice) as Fields
  if (typeof type === 'string' && !CHOICES.includes(type)) throw createForcedError(type)
  const name = nameOf(choice)
  const named = name === undefined ? [] : foreign.filter(tool => nameOf(tool) === name)
  const forced = choice === 'required' && own === 0 ? foreign[0] : named[0]
  if (isForeign(forced)) throw createForcedError(forced.type)
}

/** Name of a tool or a choice, in the shape of either API: `{name}`, or `{[type]: {name}}`. */
const nameOf = (tool: unknown): unknown => {
  const { type, name, ...fields } = Object(tool) as Fields
  return name ?? (typeof type === 'string' ? (Object(fields[type]) as Fields).name : undefined)
}

/** A choice among allowed tools without the foreign ones. */
const ownChoice = (choice: unknown): unknown => {
  const { type, allowed_tools: nested } = Object(choice) as Fields
  if (type !== 'allowed_tools') return choice
  const { mode, tools } = Object(nested ?? choice) as Fields
  const foreign = Array.isArray(tools) ? tools.find(isForeign) : undefined
  if (!Array.isArray(tools) || foreign === undefined) return choice
  const own = tools.filter(tool => !isForeign(tool))
  if (own.length === 0 && mode === 'required') throw createForcedError(foreign.type)
  if (own.length === 0) return 'none'
  return nested === undefined
    ? { ...(choice as Fields), tools: own }
    : { type, allowed_tools: { ...(nested as Fields), tools: own } }
}

const createForcedError = (type: string): ShoalError =>
  new ShoalError(
    'unsupported_parameter',
    `tool_choice forces a tool of type ${shortenText(type, MAX_TYPE_LENGTH)}, which is not supported`,
    { param: 'tool_choice' },
  )
