import { ShoalError } from '../../../shared/errors.ts'

/**
 * Error for a port that cannot be opened, for the operator who configured it under `key`; other
 * causes are returned unchanged.
 */
export const listenError = (
  cause: unknown,
  { host, port, key }: { host: string; port: number; key: string },
): unknown => {
  const { code, syscall } = cause as NodeJS.ErrnoException
  if (syscall !== 'listen') return cause
  const choose = `choose another with ${key} (--${key.replaceAll('.', '-')})`
  if (code === 'EADDRINUSE') {
    const message = `port ${port} on ${host} is in use; ${choose}`
    return new ShoalError('address_in_use', message, { cause })
  }
  const message = `cannot listen on port ${port} of ${host} (${code}); ${choose}`
  return new ShoalError('config_invalid', message, { cause })
}
