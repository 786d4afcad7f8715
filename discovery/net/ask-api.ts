import { exchange } from '../../shared/outbound/exchange.ts'

/** Whole answer of a local or configured server. */
export interface BoundedAnswer {
  status: number
  text: string
}

type Place = Pick<Parameters<typeof exchange>[0], 'socketPath' | 'ca' | 'tls'> & {
  /** Address to connect to, whatever the name in `url` means; not needed for a socket. */
  address?: string
}

/** Largest answer, bytes: a page of 500 pods has some 5 MB, a host with a thousand containers 3 MB. */
const MAX_BYTES = 32 * 1024 * 1024
const TIMEOUT_SECONDS = 10

/** Asks an interface of the infrastructure with GET. Rejects with SendError or the socket's error. */
export const askApi = async (
  url: URL,
  headers: Readonly<Record<string, string>>,
  { address = '', ...place }: Place,
  signal: AbortSignal,
): Promise<BoundedAnswer> => {
  const { status, body } = await exchange(
    {
      ...place,
      url,
      method: 'GET',
      headers,
      findAddresses: async () => [{ address, family: address.includes(':') ? 6 : 4 }],
      connectSeconds: TIMEOUT_SECONDS,
      answerSeconds: TIMEOUT_SECONDS,
      totalSeconds: TIMEOUT_SECONDS,
      maxAnswerBytes: MAX_BYTES,
    },
    signal,
  )
  return { status, text: body.toString() }
}
