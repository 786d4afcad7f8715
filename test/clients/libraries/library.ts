/** One call of the table, as every client library can make it. */
export interface LibraryRequest {
  model: string
  text: string
  /** 0 when absent. */
  temperature?: number
  maxTokens?: number
  signal?: AbortSignal
}

interface LibraryAnswer {
  text: string
  /** Finish reason as the library names it. */
  finish: string | undefined
  inputTokens: number | undefined
  outputTokens: number | undefined
}

interface LibraryCall {
  name: string
  input: unknown
  finish: string | undefined
}

/** An unmodified client library, asked in its own way. */
export interface Library {
  name: string
  /** The library's names for an answer that ended by itself, by a tool call and by its limit. */
  finishes: { stop: string | undefined; tool: string | undefined; length: string | undefined }
  chat(ask: LibraryRequest): Promise<LibraryAnswer>
  /** `pieces` counts the pieces of text. */
  stream(ask: LibraryRequest): Promise<LibraryAnswer & { pieces: number }>
  /** Asks a model that must call the function. */
  tool(ask: LibraryRequest): Promise<LibraryCall>
  toolStream(ask: LibraryRequest): Promise<LibraryCall>
  json(ask: LibraryRequest): Promise<unknown>
  embed?(model: string, texts: string[]): Promise<number[][]>
  /** Aborts a stream after its first text; the answer is what is thrown, if anything is. */
  abort(ask: LibraryRequest): Promise<unknown>
  /** An abort ends the stream without a word. */
  abortsQuietly?: true
  /** Status and code that the library reports for an error. */
  fault(error: unknown): { status: unknown; code: unknown }
}

export type MakeLibrary = (baseUrl: string, apiKey: string) => Library

export const TOOL = {
  name: 'look',
  description: 'Looks at a part of the fleet.',
  parameters: {
    type: 'object',
    properties: { part: { type: 'string', enum: ['cell', 'robot'] }, deep: { type: 'boolean' } },
    required: ['part', 'deep'],
    additionalProperties: false,
  },
} as const

export const SCHEMA = {
  type: 'object',
  properties: { kind: { type: 'string', enum: ['cell', 'robot'] }, known: { type: 'boolean' } },
  required: ['kind', 'known'],
  additionalProperties: false,
} as const

/** Takes what a stream throws when it is aborted after its first text. */
export const abortedAfterFirst = async (
  open: (signal: AbortSignal) => Promise<AsyncIterable<string>>,
): Promise<unknown> => {
  const controller = new AbortController()
  try {
    for await (const text of await open(controller.signal)) if (text !== '') controller.abort()
  } catch (error) {
    return error
  }
  return undefined
}
