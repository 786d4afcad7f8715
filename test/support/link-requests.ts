import type {
  AnswerHeaders,
  AnswerListener,
  CellLink,
  CellRequest,
  CellStream,
} from '../../coordinator/fleet/cells/cell-link.ts'

interface CollectedAnswer {
  status: number
  headers: AnswerHeaders
  bytes: Buffer
  text: string
  trailers: AnswerHeaders | undefined
  isWhole: boolean
}

export interface OpenRequest {
  stream: CellStream
  /** Resolves when the answer has ended, whole or not. */
  end: Promise<CollectedAnswer>
  /** Resolves with the first piece of the answer. */
  begun: Promise<void>
  /** Bytes of the answer received so far. */
  read: () => number
}

/** Opens a request on a link and collects its answer; `more` hears of it too. */
export const openRequest = (
  link: Pick<CellLink, 'request'>,
  request: CellRequest,
  more: Partial<AnswerListener> = {},
): OpenRequest => {
  const { promise: end, resolve } = Promise.withResolvers<CollectedAnswer>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const pieces: Buffer[] = []
  let head = { status: 0, headers: {} as AnswerHeaders }
  let trailers: AnswerHeaders | undefined
  let read = 0
  const stream = link.request(request, {
    onHead: (status, headers) => {
      head = { status, headers }
      more.onHead?.(status, headers)
    },
    onData: piece => {
      pieces.push(piece)
      read += piece.length
      begin()
      more.onData?.(piece)
      return false
    },
    onTrailers: headers => {
      trailers = headers
      more.onTrailers?.(headers)
    },
    onBeat: (...beat) => more.onBeat?.(...beat),
    onClose: isWhole => {
      const bytes = Buffer.concat(pieces)
      more.onClose?.(isWhole)
      resolve({ ...head, bytes, text: bytes.toString(), trailers, isWhole })
    },
  })
  return { stream, end, begun, read: () => read }
}

export const collectAnswer = async (link: Pick<CellLink, 'request'>, request: CellRequest) =>
  openRequest(link, request).end
