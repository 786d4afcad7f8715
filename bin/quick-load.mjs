import { enableCompileCache, registerHooks } from 'node:module'

const ROOT = new URL('..', import.meta.url).href
const LIBRARIES = `${ROOT}node_modules/`
const libraries = new Map()

const isSource = url => url.startsWith(ROOT) && !url.startsWith(LIBRARIES)

enableCompileCache()

/*
 * Resolves imports without the disk. Node looks up the real path, the package and the format for
 * each of some eight thousand imports, a quarter of the CPU time of a start. An import of a file
 * names its whole path, and our sources find each library in one place.
 */
registerHooks({
  resolve: (specifier, context, next) => {
    const { parentURL = '', conditions } = context
    if (!conditions.includes('import')) return next(specifier, context)
    const isPath = specifier.startsWith('.')
    const url = isPath ? new URL(specifier, parentURL).href : specifier
    if (url.endsWith('.ts') && isSource(url))
      return { url, format: 'module-typescript', shortCircuit: true }
    if (isPath) return { url, shortCircuit: true }
    if (!isSource(parentURL)) return next(specifier, context)
    const found = libraries.get(specifier) ?? { ...next(specifier, context), shortCircuit: true }
    libraries.set(specifier, found)
    return found
  },
})
