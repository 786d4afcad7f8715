import type {
  AnswerHeaders,
  AnswerListener,
  CellLink,
  CellRequest,
  CellStream,
} from '../../../coordinator/fleet/cell-link.ts'

export interface Answered {
  status: number
  headers: AnswerHeaders
  bytes: Buffer
  text: string
  trailers: AnswerHeaders | undefined
  isWhole: boolean
}

export interface Asked {
  stream: CellStream
  /** Resolves with the end, whole or not. */
  end: Promise<Answered>
  /** Resolves with the first piece of the answer. */
  begun: Promise<void>
  /** Bytes that have come so far. */
  read: () => number
}

/** Makes a request and keeps what is told of it. */
export const open = (
  link: Pick<CellLink, 'request'>,
  request: CellRequest,
  more: Partial<AnswerListener> = {},
): Asked => {
  const { promise: end, resolve } = Promise.withResolvers<Answered>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const pieces: Buffer[] = []
  let head = { status: 0, headers: {} as AnswerHeaders }
  let trailers: AnswerHeaders | undefined
  let read = 0
  const stream = link.request(request, {
    head: (status, headers) => {
      head = { status, headers }
      more.head?.(status, headers)
    },
    data: piece => {
      pieces.push(piece)
      read += piece.length
      begin()
      more.data?.(piece)
    },
    trailers: headers => {
      trailers = headers
    },
    silent: () => more.silent?.(),
    closed: isWhole => {
      const bytes = Buffer.concat(pieces)
      resolve({ ...head, bytes, text: bytes.toString(), trailers, isWhole })
    },
  })
  return { stream, end, begun, read: () => read }
}

export const ask = async (link: Pick<CellLink, 'request'>, request: CellRequest) =>
  open(link, request).end
