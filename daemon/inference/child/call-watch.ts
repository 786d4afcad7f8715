import { ArgumentsText } from '../arguments-text.ts'
import { writeHeldArguments, writeHeldGrammar } from '../grammar/call-grammar.ts'
import type { CallRules } from '../protocol.ts'
import { CALL_ARGUMENTS, CALL_SYNTAX, type CallShape, type CallSyntax } from '../tool-syntax.ts'

/** Decision about an answer after its newest text. */
type CallDecision =
  /** A call has begun: this grammar constrains the following text. */
  | { type: 'hold'; grammar: string }
  /** The call is complete: the following text is unconstrained. */
  | { type: 'release' }

/** Beginning of a call up to the name of its function, where calls have no mark: `{"name": "f"`. */
const BARE = /^[;\s]*\{\s*"name"\s*:\s*"([\w-]{1,64})"/
/** Longest beginning of a call, including white space. */
const MAX_BARE = 256

/** Watches the text of an answer for the beginning and end of calls. */
export class CallWatch {
  readonly #shape: CallShape
  readonly #syntax: CallSyntax
  readonly #calls: CallRules
  /** The end of the text, as long as a mark may begin in it. */
  #tail = ''
  /** The beginning of the text, while it may be a call without a mark. */
  #bare: string | undefined
  #call: CallEnd | undefined

  constructor(shape: CallShape, calls: CallRules) {
    this.#shape = shape
    this.#syntax = CALL_SYNTAX[shape]
    this.#calls = calls
    this.#bare = this.#syntax.bare ? '' : undefined
  }

  push(text: string): CallDecision | undefined {
    if (text === '') return undefined
    if (this.#call !== undefined) return this.#follow(this.#call, text)
    return this.#findMarked(text) ?? this.#findUnmarked(text)
  }

  #findMarked(text: string): CallDecision | undefined {
    const { begin } = this.#syntax
    const all = this.#tail + text
    const at = all.lastIndexOf(begin)
    this.#tail = all.slice(1 - begin.length)
    if (at < 0) return undefined
    const written = all.slice(at + begin.length)
    return this.#hold(writeHeldGrammar(this.#shape, this.#calls, written), written)
  }

  #findUnmarked(text: string): CallDecision | undefined {
    if (this.#bare === undefined) return undefined
    const bare = this.#bare + text
    const found = BARE.exec(bare)
    const asked = this.#calls.functions.find(({ name }) => name === found?.[1])
    const isOpen = /^[;\s]*(\{|$)/.test(bare) && bare.length < MAX_BARE
    this.#bare = found === null && isOpen ? bare : undefined
    if (found === null || asked === undefined) return undefined
    const after = bare.slice(found[0].length)
    return this.#hold(writeHeldArguments(this.#shape, this.#calls, asked.rule, after), bare)
  }

  #hold(grammar: string | undefined, written: string): CallDecision | undefined {
    if (grammar === undefined) return undefined
    this.#tail = ''
    this.#bare = undefined
    this.#call = new CallEnd(this.#shape)
    this.#call.hasReached(written)
    return { type: 'hold', grammar }
  }

  #follow(call: CallEnd, text: string): CallDecision | undefined {
    if (!call.hasReached(text)) return undefined
    this.#call = undefined
    this.#bare = this.#syntax.bare ? '' : undefined
    return { type: 'release' }
  }
}

/** Finds the end of one call, or of a list of calls, in constrained text. */
class CallEnd {
  readonly #end: string
  readonly #json = new ArgumentsText()
  /** Text that precedes the JSON; undefined when there is nothing to wait for. */
  #before: string | undefined
  #after = ''

  constructor(shape: CallShape) {
    this.#end = CALL_SYNTAX[shape].end
    this.#before = shape === 'mistral-args' ? '' : undefined
  }

  hasReached(text: string): boolean {
    if (this.#json.complete) this.#after += text
    else {
      const json = this.#jsonOf(text)
      this.#after = json.slice(this.#json.take(json).length)
    }
    return this.#json.complete && this.#after.includes(this.#end)
  }

  #jsonOf(text: string): string {
    if (this.#before === undefined) return text
    this.#before += text
    const at = this.#before.indexOf(CALL_ARGUMENTS)
    if (at < 0) return ''
    const json = this.#before.slice(at + CALL_ARGUMENTS.length)
    this.#before = undefined
    return json
  }
}
