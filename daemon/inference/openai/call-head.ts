import { CALL_ARGUMENTS, CALL_ID, type CallShape } from '../tool-syntax.ts'

/** Text before the arguments of a call. */
interface CallHead {
  name: string
  length: number
}

/** `{"name": …, "arguments": ` as models write it; nothing but the arguments is left. */
const OBJECT =
  /^[\s,;[]*\{\s*"name"\s*:\s*"([\w-]{1,64})"\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)/
const PLAIN = /^\s*([\w-]{1,64})(?:\[CALL_ID\]\w{1,64})?\[ARGS\]\s*(?=\{)/

/** The beginning of a call, with or without what separates it from the one before. */
export const readHead = (shape: CallShape, text: string): CallHead | undefined => {
  const found = (shape === 'mistral-args' ? PLAIN : OBJECT).exec(text)
  return found ? { name: found[1] as string, length: found[0].length } : undefined
}

/** More text may make it the beginning of a call. */
export const isOpenHead = (shape: CallShape, text: string): boolean => {
  const written = text.replace(/\s/g, '').replace(/^[,;[]+/, '')
  return shape === 'mistral-args' ? isOpenPlain(written) : isOpenObject(written)
}

/**
 * True for an object that may still name a function; its first characters distinguish it from
 * others.
 */
const isOpenObject = (written: string): boolean => {
  const begin = '{"name":"'
  if (begin.startsWith(written)) return true
  if (!written.startsWith(begin)) return false
  const rest = skipName(written.slice(begin.length))
  return ['arguments', 'parameters'].some(key => `","${key}":`.startsWith(rest))
}

const isOpenPlain = (written: string): boolean => {
  const rest = skipName(written)
  if ([CALL_ARGUMENTS, CALL_ID].some(mark => mark.startsWith(rest))) return true
  return rest.startsWith(CALL_ID) && CALL_ARGUMENTS.startsWith(skipName(rest.slice(CALL_ID.length)))
}

const skipName = (text: string): string => text.replace(/^[\w-]{0,64}/, '')
