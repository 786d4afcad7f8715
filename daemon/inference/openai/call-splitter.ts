import { CALL_BEGIN, CALL_END } from '../tool-syntax.ts'
import { ArgumentsText } from './arguments-text.ts'

/** What an answer turns out to be, piece by piece. */
export type Part =
  | { type: 'content'; text: string }
  | { type: 'call'; name: string }
  /** Of the last call. */
  | { type: 'arguments'; text: string }

/** `{"name": …, "arguments": ` as models write it; nothing but the arguments is left. */
const HEAD = /^\s*\{\s*"name"\s*:\s*"([\w-]{1,64})"\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)/

/** What is held back for longer than this is not waited for: looking again and again has a price. */
const MAX_SPACE = 512
const MAX_HEAD = 16_384

/**
 * Finds the calls in the text of an answer while it grows. Text that may still become a call is
 * held back; a call of an unknown function, or one that is broken, is text.
 */
export class CallSplitter {
  readonly #names: ReadonlySet<string>
  #state: 'text' | 'head' | 'arguments' | 'tail' = 'text'
  #held = ''
  /** Before the call; shown only when it turns out to be none. */
  #space = ''
  #arguments = new ArgumentsText()

  constructor(names: Iterable<string>) {
    this.#names = new Set(names)
  }

  push(text: string): Part[] {
    this.#held += text
    const parts: Part[] = []
    while (this.#step(parts));
    return parts
  }

  /** What was held back, when no more text comes. */
  end(): Part[] {
    const parts: Part[] = []
    if (this.#state === 'head') this.#wholeCall(this.#held, '', parts)
    else if (this.#state === 'text' && this.#held !== '')
      parts.push({ type: 'content', text: this.#held })
    this.#held = ''
    return parts
  }

  /** True when there may be more to do with what is held. */
  #step(parts: Part[]): boolean {
    switch (this.#state) {
      case 'text':
        return this.#text(parts)
      case 'head':
        return this.#head(parts)
      case 'arguments':
        return this.#body(parts)
      case 'tail':
        return this.#tail()
    }
  }

  #text(parts: Part[]): boolean {
    const at = this.#held.indexOf(CALL_BEGIN)
    const before = at >= 0 ? this.#held.slice(0, at) : this.#held.slice(0, this.#safe())
    const shown = at >= 0 ? before.trimEnd() : before
    if (shown !== '') parts.push({ type: 'content', text: shown })
    if (at < 0) {
      this.#held = this.#held.slice(shown.length)
      return false
    }
    this.#space = before.slice(shown.length)
    this.#held = this.#held.slice(at + CALL_BEGIN.length)
    this.#state = 'head'
    return true
  }

  /** Length of the text that no call can begin in; white space before a call is not shown. */
  #safe(): number {
    const text = this.#held
    let length = Math.min(CALL_BEGIN.length - 1, text.length)
    while (length > 0 && !CALL_BEGIN.startsWith(text.slice(-length))) length--
    const free = text.slice(0, text.length - length)
    const shown = free.trimEnd().length
    return free.length - shown > MAX_SPACE ? free.length : shown
  }

  #head(parts: Part[]): boolean {
    const found = HEAD.exec(this.#held)
    if (found && this.#names.has(found[1] as string)) {
      parts.push({ type: 'call', name: found[1] as string })
      this.#held = this.#held.slice(found[0].length)
      this.#arguments = new ArgumentsText()
      this.#state = 'arguments'
      return true
    }
    const end = this.#held.indexOf(CALL_END)
    if (end < 0) return this.#held.length > MAX_HEAD && this.#giveUp(parts)
    this.#wholeCall(this.#held.slice(0, end), CALL_END, parts)
    this.#held = this.#held.slice(end + CALL_END.length)
    this.#state = 'text'
    return this.#held !== ''
  }

  #giveUp(parts: Part[]): boolean {
    parts.push({ type: 'content', text: this.#space + CALL_BEGIN + this.#held })
    this.#held = ''
    this.#state = 'text'
    return false
  }

  #body(parts: Part[]): boolean {
    const text = this.#arguments.take(this.#held)
    if (text !== '') parts.push({ type: 'arguments', text })
    this.#held = this.#held.slice(text.length)
    if (this.#arguments.complete) this.#state = 'tail'
    return this.#arguments.complete
  }

  /** What comes between the arguments and the end of the call means nothing. */
  #tail(): boolean {
    const end = this.#held.indexOf(CALL_END)
    if (end < 0) this.#held = this.#held.slice(1 - CALL_END.length)
    if (end < 0) return false
    this.#held = this.#held.slice(end + CALL_END.length)
    this.#state = 'text'
    return true
  }

  /** A call that is written in another order, or none at all. */
  #wholeCall(body: string, end: string, parts: Part[]): void {
    const call = readCall(body)
    if (call === undefined || !this.#names.has(call.name))
      parts.push({ type: 'content', text: `${this.#space}${CALL_BEGIN}${body}${end}` })
    else parts.push({ type: 'call', name: call.name }, { type: 'arguments', text: call.arguments })
  }
}

const readCall = (text: string): { name: string; arguments: string } | undefined => {
  try {
    const { name, arguments: given, parameters } = JSON.parse(text)
    const value = given ?? parameters ?? {}
    return {
      name: String(name),
      arguments: typeof value === 'string' ? value : JSON.stringify(value),
    }
  } catch {
    return undefined
  }
}
