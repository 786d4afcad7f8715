import type { ShoalError } from '../../../shared/errors.ts'

/** Body of an error in Ollama's API. */
export const ollamaError = ({ message }: ShoalError): { error: string } => ({ error: message })

/** True for a path of Ollama's API. */
export const isOllamaPath = (path: string): boolean => path.startsWith('/api/')
