import { pathToFileURL } from 'node:url'

/**
 * Imports files as one module that imports them all, and returns what they export, in their order.
 * Node walks the whole graph of modules for every dynamic import, which adds up over hundreds of
 * files.
 */
export const importFiles = async <Exports>(files: readonly string[]): Promise<Exports[]> => {
  const lines = files.map(
    (file, at) => `export * as file${at} from ${JSON.stringify(pathToFileURL(file).href)}`,
  )
  const all = await import(`data:text/javascript,${encodeURIComponent(lines.join('\n'))}`)
  return files.map((_, at) => all[`file${at}`])
}
