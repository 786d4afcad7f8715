import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { JudgeRules } from '../../shared/outbound/judge.ts'
import { type Address, checkAddresses, type Resolve } from '../../shared/outbound/resolve.ts'
import { SendError } from '../../shared/outbound/send-error.ts'
import type { Transport, TransportRequest } from './transport.ts'

interface WhoisTransportParts {
  rules: JudgeRules
  resolve: Resolve
}

/** Port of WHOIS (RFC 3912, 2); servers that an answer names are asked at no other one. */
const PORT = 43
const OK = 200

/** Asks `whois://server:43/question`: one line, and an answer up to the end of the connection. */
export const createWhoisTransport =
  ({ rules, resolve }: WhoisTransportParts): Transport =>
  async (request, signal) => {
    const { totalSeconds, maxBytes, url } = request
    const limit = AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(totalSeconds * 1000))])
    const [address] = await checkAddresses(toTarget(request), rules, resolve)
    if (address === undefined) throw new SendError('not_resolved', `${url.hostname} has no address`)
    const socket = await open(address, portOf(url), limit)
    try {
      socket.write(`${readQuestion(url)}\r\n`)
      const body = await readAll(socket, maxBytes)
      return { status: OK, headers: {}, body: decode(body) }
    } catch (cause) {
      if (limit.aborted && !signal.aborted)
        throw new SendError('timed_out', `no answer within ${totalSeconds} s`, { cause })
      throw cause
    } finally {
      socket.destroy()
    }
  }

const portOf = (url: URL): number => Number(url.port || PORT)

const toTarget = ({ url, isConfigured }: TransportRequest) => {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = portOf(url)
  if (!isConfigured && port !== PORT)
    throw new SendError('refused', `a WHOIS server is asked at port ${PORT} only`)
  return { url, host, port, literal: ipaddr.isValid(host), trusted: isConfigured }
}

/** A line end in the question would begin another one. */
const readQuestion = ({ pathname }: URL): string => {
  const question = decodeURIComponent(pathname.slice(1))
  if (/[\r\n]/.test(question)) throw new SendError('refused', 'the question has several lines')
  return question
}

const open = async ({ address, family }: Address, port: number, signal: AbortSignal) => {
  const socket = connect({ host: address, port, family, signal })
  socket.on('error', () => {})
  await once(socket, 'connect', { signal })
  return socket
}

const readAll = async (socket: Socket, maxBytes: number): Promise<Buffer> => {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of socket as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > maxBytes)
      throw new SendError('too_large', `the answer has more than ${maxBytes} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** Older servers answer in Latin-1, which is no valid UTF-8 where it matters. */
const decode = (body: Buffer): Buffer => {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(body)
    return body
  } catch {
    return Buffer.from(body.toString('latin1'))
  }
}
