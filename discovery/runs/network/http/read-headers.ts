import type { HttpAnswer } from '../../../net/http-probe.ts'

export interface HeaderFacts {
  server: string | null
  auth_realm: string | null
  headers: Record<string, string>
  header_order: string[]
  cookies: string[]
  security_headers: {
    hsts: boolean
    csp: boolean
    x_frame_options: boolean
    x_content_type_options: boolean
    referrer_policy: boolean
  }
}

const MAX_HEADERS = 64
/** Values of these can be credentials. */
const SECRET = new Set(['set-cookie', 'authorization', 'proxy-authorization', 'cookie'])

/** Facts of the headers of an answer. Cookies keep their names only: values may be sessions. */
export const readHeaders = ({ headers, rawHeaders }: HttpAnswer): HeaderFacts => {
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map(name => name.slice(0, 64))
  const values = Object.entries(headers).filter(([name]) => !SECRET.has(name))
  return {
    server: String(headers.server ?? '').slice(0, 256) || null,
    auth_realm: /realm="?([^",]{1,256})/i.exec(headers['www-authenticate'] ?? '')?.[1] ?? null,
    headers: Object.fromEntries(
      values
        .slice(0, MAX_HEADERS)
        .map(([name, value]) => [name.slice(0, 64), String(value).slice(0, 512)]),
    ),
    header_order: names.slice(0, MAX_HEADERS),
    cookies: (headers['set-cookie'] ?? [])
      .map(cookie => cookie.split('=')[0]?.trim().slice(0, 64) ?? '')
      .filter(name => name !== '')
      .slice(0, 32),
    security_headers: {
      hsts: 'strict-transport-security' in headers,
      csp: 'content-security-policy' in headers,
      x_frame_options: 'x-frame-options' in headers,
      x_content_type_options: 'x-content-type-options' in headers,
      referrer_policy: 'referrer-policy' in headers,
    },
  }
}
