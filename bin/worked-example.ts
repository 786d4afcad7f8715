import type { Skill } from '../coordinator/kernel/declaration/skill.ts'
import { settle } from './settle-answer.ts'

/** Answer to an example of a skill: the HTTP status, and the JSON body. */
export interface ExampleAnswer {
  status: number
  body: Record<string, unknown>
}

const MAX_LINES = 14
const MAX_MEMBERS = 8
const MAX_DEPTH = 3
const MAX_CHARACTERS = 100

/** The first example of a skill and its answer in short, as lines of Markdown. */
export const formatWorkedExample = ({ examples }: Skill, answer: ExampleAnswer): string[] => [
  '```json',
  JSON.stringify(examples[0] ?? {}),
  '```',
  '',
  answer.status === 200 ? 'The answer, in short:' : `The answer, with status ${answer.status}:`,
  '',
  '```json',
  ...listShownLines(settle(answer.body) as ExampleAnswer['body']),
  '```',
  '',
]

/** One line for each field of the answer. */
const listShownLines = (body: ExampleAnswer['body']): string[] => {
  const fields = Object.entries(shortenMembers(body, MAX_LINES, 0))
  const lines = fields.map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`)
  return ['{', lines.join(',\n'), '}']
}

/** A value without most members of its lists and objects; the rest is counted. */
const shorten = (value: unknown, depth: number): unknown => {
  if (typeof value === 'string') return shortenText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > MAX_DEPTH) return Array.isArray(value) ? ['…'] : { '…': '…' }
  if (!Array.isArray(value)) return shortenMembers(value, MAX_MEMBERS, depth)
  const [first, ...others] = value
  if (first === undefined) return []
  return [shorten(first, depth + 1), ...(others.length > 0 ? [`… ${others.length} more`] : [])]
}

const shortenMembers = (value: object, most: number, depth: number): object => {
  const members = Object.entries(value)
  const shown = members.slice(0, most).map(([name, each]) => [name, shorten(each, depth + 1)])
  const left = members.length - shown.length
  return Object.fromEntries([...shown, ...(left > 0 ? [['…', `${left} more`]] : [])])
}

const shortenText = (text: string): string =>
  text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text
