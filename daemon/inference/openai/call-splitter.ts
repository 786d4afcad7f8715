import { ArgumentsText } from '../arguments-text.ts'
import { CALL_SYNTAX, type CallShape, type CallSyntax } from '../tool-syntax.ts'
import { isOpenHead, readHead } from './call-head.ts'

/** Parts of an answer in the order in which they are recognised. */
export type AnswerPart =
  /** `at`: where it begins in the whole text, in characters of JavaScript. */
  | { type: 'content'; text: string; at: number }
  | { type: 'call'; name: string }
  /** Arguments of the last call. */
  | { type: 'arguments'; text: string }

/** Longest white space that is held back, because scanning it again and again is expensive. */
const MAX_SPACE = 512
const MAX_HEAD = 16_384

/** End of a call in a list, and whether another one follows. */
const LIST_TAIL = /^(?:\s*,\s*"id"\s*:\s*"[^"]*")?\s*\}\s*([,\]])/

/**
 * Finds the calls in the text of an answer while it grows. Text that may still become a call is
 * held back; a call of an unknown function, or one that is broken, is text.
 */
export class CallSplitter {
  readonly #shape: CallShape
  readonly #syntax: CallSyntax
  readonly #names: ReadonlySet<string>
  #state: 'text' | 'head' | 'arguments' | 'tail' = 'text'
  #held = ''
  /** Offset of the held text in the whole text. */
  #at = 0
  /** White space and the mark of a call; shown only when it turns out to be none. */
  #opened = ''
  /** A call may begin here without a mark. */
  #bare: boolean
  #arguments = new ArgumentsText()

  constructor(names: Iterable<string>, shape: CallShape = 'hermes') {
    this.#names = new Set(names)
    this.#shape = shape
    this.#syntax = CALL_SYNTAX[shape]
    this.#bare = this.#syntax.bare
  }

  /** Length of the text whose meaning is decided. */
  get decided(): number {
    return this.#state === 'head' ? this.#at - this.#opened.length : this.#at
  }

  /** The arguments of the last call have not come to their end. */
  get isCut(): boolean {
    return this.#state === 'arguments'
  }

  push(text: string): AnswerPart[] {
    this.#held += text
    const parts: AnswerPart[] = []
    while (this.#step(parts));
    return parts
  }

  /** Flushes buffered text at the end of the stream. */
  end(): AnswerPart[] {
    const parts: AnswerPart[] = []
    if (this.#state === 'head') this.#wholeCall(this.#held, '', parts)
    else if (this.#state === 'text') this.#content(this.#held, parts)
    this.#drop(this.#held.length)
    return parts
  }

  /** True when there may be more to do with what is held. */
  #step(parts: AnswerPart[]): boolean {
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

  #text(parts: AnswerPart[]): boolean {
    if (this.#bare) {
      const space = /^[\s;]*/.exec(this.#held)?.[0].length ?? 0
      if (space === this.#held.length && space <= MAX_SPACE) return false
      this.#bare = false
      if (this.#held[space] === '{') return this.#open(space)
    }
    const { begin } = this.#syntax
    const at = this.#held.indexOf(begin)
    const before = at >= 0 ? this.#held.slice(0, at) : this.#held.slice(0, this.#countSafe())
    const shown = at >= 0 ? before.trimEnd() : before
    this.#content(shown, parts)
    this.#drop(shown.length)
    return at >= 0 && this.#open(at - shown.length + begin.length)
  }

  /** Number of characters that belong to a call, if it is one. */
  #open(length: number): true {
    this.#opened = this.#held.slice(0, length)
    this.#drop(length)
    this.#state = 'head'
    return true
  }

  /** Length of the text that no call can begin in; white space before a call is not shown. */
  #countSafe(): number {
    const { begin } = this.#syntax
    const text = this.#held
    let length = Math.min(begin.length - 1, text.length)
    while (length > 0 && !begin.startsWith(text.slice(-length))) length--
    const free = text.slice(0, text.length - length)
    const shown = free.trimEnd().length
    return free.length - shown > MAX_SPACE ? free.length : shown
  }

  #head(parts: AnswerPart[]): boolean {
    const head = readHead(this.#shape, this.#held)
    if (head && this.#names.has(head.name)) {
      parts.push({ type: 'call', name: head.name })
      this.#drop(head.length)
      this.#arguments = new ArgumentsText()
      this.#state = 'arguments'
      return true
    }
    const { end } = this.#syntax
    if (end === '') {
      const isOpen = this.#held.length <= MAX_SPACE && isOpenHead(this.#shape, this.#held)
      return !isOpen && this.#giveUp(parts)
    }
    const at = this.#held.indexOf(end)
    if (at < 0) return this.#held.length > MAX_HEAD && this.#giveUp(parts)
    this.#wholeCall(this.#held.slice(0, at), end, parts)
    this.#drop(at + end.length)
    this.#state = 'text'
    return this.#held !== ''
  }

  #giveUp(parts: AnswerPart[]): boolean {
    parts.push({ type: 'content', text: this.#opened + this.#held, at: this.decided })
    this.#drop(this.#held.length)
    this.#state = 'text'
    return false
  }

  #body(parts: AnswerPart[]): boolean {
    const text = this.#arguments.take(this.#held)
    if (text !== '') parts.push({ type: 'arguments', text })
    this.#drop(text.length)
    if (this.#arguments.complete) this.#state = 'tail'
    return this.#arguments.complete
  }

  /** Skips text between the arguments and the end of the call. */
  #tail(): boolean {
    if (this.#shape === 'mistral-args') return this.#endCall(0)
    if (this.#shape === 'mistral') return this.#listTail()
    const end = this.#syntax.end || '}'
    const at = this.#held.indexOf(end)
    if (at >= 0) return this.#endCall(at + end.length)
    this.#drop(Math.max(0, this.#held.length - end.length + 1))
    return false
  }

  #listTail(): boolean {
    const found = LIST_TAIL.exec(this.#held)
    if (found === null) return this.#held.length > MAX_SPACE && this.#endCall(this.#held.length)
    if (found[1] === ']') return this.#endCall(found[0].length)
    return this.#open(found[0].length)
  }

  #endCall(length: number): true {
    this.#drop(length)
    this.#bare = this.#syntax.bare
    this.#state = 'text'
    return true
  }

  /** A call that is written in another order, or none at all. */
  #wholeCall(body: string, end: string, parts: AnswerPart[]): void {
    const call = this.#syntax.end === '' ? undefined : readCall(body)
    if (call !== undefined && this.#names.has(call.name))
      parts.push({ type: 'call', name: call.name }, { type: 'arguments', text: call.arguments })
    else {
      const text = `${this.#opened}${body}${end}`
      parts.push({ type: 'content', text, at: this.decided })
    }
  }

  #content(text: string, parts: AnswerPart[]): void {
    if (text !== '') parts.push({ type: 'content', text, at: this.#at })
  }

  #drop(length: number): void {
    this.#held = this.#held.slice(length)
    this.#at += length
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
