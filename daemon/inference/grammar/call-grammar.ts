import type { CallRules } from '../protocol.ts'
import { CALL_ARGUMENTS, CALL_SYNTAX, type CallShape } from '../tool-syntax.ts'
import { literal, NOTHING, oneOf } from './gbnf.ts'

/** Calls of one answer that a grammar allows; a small model might else never end. */
const MAX_CALLS = 16

/** Grammar for an answer that consists only of calls, or of the text allowed in their place. */
export const wholeGrammar = (shape: CallShape, calls: CallRules): string => {
  const { call, before = NOTHING, between = NOTHING, after = NOTHING } = spellCalls(shape, calls)
  // the template of llama models takes one call in an answer
  const most = calls.parallel && shape !== 'llama' ? MAX_CALLS - 1 : 0
  const root = calls.instead === undefined ? 'calls' : `${calls.instead} | calls`
  return [
    `root ::= ${root}`,
    `calls ::= ${before} call next{0,${most}} ${after}`,
    `call ::= ${call}`,
    `next ::= ${between} call`,
    calls.rules,
  ].join('\n')
}

interface Spelled {
  call: string
  before?: string
  between?: string
  after?: string
}

/** Spelling of calls that models have seen most often. */
const spellCalls = (shape: CallShape, { functions }: CallRules): Spelled => {
  const { begin, end, key } = CALL_SYNTAX[shape]
  const spellNames = (after: string): string =>
    oneOf(functions.map(({ name, rule }) => ({ text: `${name}${after}`, after: rule })))
  const object = `${literal('{"name": "')} ${spellNames(`", "${key}": `)}`
  switch (shape) {
    case 'hermes':
      return {
        call: `${literal(`${begin}\n`)} ${object} ${literal(`}\n${end}`)}`,
        between: literal('\n'),
      }
    case 'llama':
      return { call: `${object} "}"` }
    case 'mistral':
      return {
        call: `${object} "}"`,
        before: literal(`${begin}[`),
        between: literal(', '),
        after: '"]"',
      }
    case 'mistral-args':
      return { call: `${literal(begin)} ${spellNames(CALL_ARGUMENTS)}` }
  }
}

/**
 * A grammar for the rest of a call that the model has begun by itself, from the mark on. White
 * space may be where JSON allows it.
 *
 * @param written what follows the mark already: a token may hold more than the mark
 * @returns undefined when that begins no call
 */
export const writeHeldGrammar = (
  shape: CallShape,
  calls: CallRules,
  written: string,
): string | undefined => {
  const { head, end } = CALL_SYNTAX[shape]
  const rest = findRest(head, written)
  if (rest === undefined) return undefined
  const tail = end === '' ? NOTHING : `ws ${literal(end)}`
  const rules = shape === 'mistral-args' ? plainTail(calls) : objectTail(shape, calls)
  return [`root ::= ${rest} held ${tail}`, ...rules, calls.rules].join('\n')
}

/** Rules for a call from the first letter of the function's name on. */
const objectTail = (shape: CallShape, { functions, parallel }: CallRules): string[] => {
  const branches = functions.map(({ name, rule }) => ({
    text: `${name}"`,
    after: argumentsTail(shape, rule, '') as string,
  }))
  const call = `call ::= ${oneOf(branches)}`
  if (shape !== 'mistral') return [call, 'held ::= call']
  const head = findRest(CALL_SYNTAX.llama.head, '')
  const most = parallel ? MAX_CALLS - 1 : 0
  return [call, `next ::= ws "," ${head} call`, `held ::= call next{0,${most}} ws "]"`]
}

const plainTail = ({ functions }: CallRules): string[] => {
  const id = `(${literal('CALL_ID]')} [a-zA-Z0-9]{1,32} "[")?`
  const branches = functions.map(({ name, rule }) => ({
    text: `${name}[`,
    after: `${id} ${literal('ARGS]')} ws ${rule}`,
  }))
  return [`held ::= ${oneOf(branches)}`]
}

/**
 * Returns the grammar of a call from behind the function's name and its quotation mark.
 *
 * @param rule name of the rule for the function's arguments
 * @param written text that already follows the name
 */
export const writeHeldArguments = (
  shape: CallShape,
  { rules }: CallRules,
  rule: string,
  written: string,
): string | undefined => {
  const tail = argumentsTail(shape, rule, written)
  return tail === undefined ? undefined : `root ::= ${tail}\n${rules}`
}

const argumentsTail = (shape: CallShape, rule: string, written: string): string | undefined => {
  const rest = findRest([',', `"${CALL_SYNTAX[shape].key}"`, ':'], written)
  if (rest === undefined) return undefined
  // Mistral's templates number the calls of a list
  const id = `(ws "," ws ${literal('"id"')} ws ":" ws "\\"" [a-zA-Z0-9]{1,32} "\\"")?`
  return `${rest} ws ${rule} ${shape === 'mistral' ? id : NOTHING} ws "}"`
}

/** Rest of the parts after `written`, ignoring white space; undefined when the text differs. */
const findRest = (parts: readonly string[], written: string): string | undefined => {
  let text = written.replace(/\s/g, '')
  const left: string[] = []
  for (const part of parts) {
    if (text.startsWith(part)) text = text.slice(part.length)
    else if (text === '') left.push(`ws ${literal(part)}`)
    else if (part.startsWith(text)) {
      left.push(literal(part.slice(text.length)))
      text = ''
    } else return undefined
  }
  return text === '' ? left.join(' ') || NOTHING : undefined
}
