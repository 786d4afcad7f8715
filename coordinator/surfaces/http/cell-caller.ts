import type { IncomingMessage } from 'node:http'
import { HEADER_BOOT_ID, HEADER_PROBE } from '../../../shared/wire/link.ts'
import { type CellCaller, NO_BOOT_ID } from '../../fleet/enrolment/admission.ts'

/** `address`: that of the client, behind any trusted proxy. */
export const cellCallerOf = (
  { headers }: Pick<IncomingMessage, 'headers'>,
  address: string,
): CellCaller => {
  const sent = headers[HEADER_BOOT_ID]
  const bootId = typeof sent === 'string' && /^[0-9a-f]{32}$/.test(sent) ? sent : NO_BOOT_ID
  return { bootId, address }
}

/**
 * True when the request is a probe, as `shoald doctor` sends it: it only checks access, and does
 * not register the caller as a running daemon.
 */
export const isProbe = ({ headers }: IncomingMessage): boolean => HEADER_PROBE in headers
