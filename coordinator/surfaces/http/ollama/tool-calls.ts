import type { ToolCall, ToolCallDelta } from '../../../../shared/wire/openai-tools.ts'

export type CallParts = Pick<ToolCall, 'id' | 'function'>

/** Puts the calls of a stream together, whose arguments arrive in pieces. */
export class CallPieces {
  readonly #calls = new Map<number, CallParts>()

  add(pieces: readonly ToolCallDelta[]): void {
    for (const { index, id, function: piece } of pieces) {
      const call = this.#calls.get(index)
      if (call !== undefined) call.function.arguments += piece.arguments
      else
        this.#calls.set(index, {
          id: id ?? `call_${index}`,
          function: { name: piece.name ?? '', arguments: piece.arguments },
        })
    }
  }

  /** Returns the calls so far, once. */
  take(): CallParts[] {
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    return calls
  }
}

/** Ollama's arguments are an object. A call that was cut off by the token limit has none. */
export const toOllamaCalls = (calls: readonly CallParts[]): object[] =>
  calls.flatMap(({ id, function: { name, arguments: text } }, index) => {
    const given = parseObject(text)
    return given === undefined ? [] : [{ id, function: { index, name, arguments: given } }]
  })

const parseObject = (text: string): object | undefined => {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
