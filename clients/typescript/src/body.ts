import { ShoalError } from './errors.ts'
import type { Patience } from './patience.ts'

/** Longest accepted answer, in UTF-16 units. */
const MAX_LENGTH = 64 * 1024 * 1024

/** Answer whose body is still arriving, and the time limit for each further piece. */
export interface TimedBody {
  response: Response
  patience: Patience
}

/** Yields the text as it arrives. Throws `coordinator_unavailable` when it is cut off or stalls. */
export async function* textOf({ response, patience }: TimedBody): AsyncGenerator<string> {
  if (response.body === null) return
  const reader = response.body.pipeThrough(new TextDecoderStream() as never).getReader()
  try {
    for (;;) {
      patience.begin()
      const { done, value } = await reader.read()
      // The time a consumer takes between reads does not count
      patience.end()
      if (done) return
      yield value as string
    }
  } catch (cause) {
    if (patience.isLeft) throw cause
    throw new ShoalError('coordinator_unavailable', 'the answer was cut off', { cause })
  } finally {
    patience.end()
    await reader.cancel().catch(() => {})
  }
}

/** Parses the body as JSON; undefined for an empty one. Throws `internal` when it is invalid. */
export const jsonOf = async <T>(answer: TimedBody): Promise<T> => {
  const { status } = answer.response
  let text = ''
  for await (const piece of textOf(answer)) {
    text += piece
    if (text.length > MAX_LENGTH)
      throw new ShoalError('internal', 'the answer is too large', { status })
  }
  return text === '' ? (undefined as T) : parseJson<T>(text, status)
}

export const parseJson = <T>(text: string, status: number): T => {
  try {
    return JSON.parse(text) as T
  } catch (cause) {
    throw new ShoalError('internal', 'the answer is not JSON', { status, cause })
  }
}
