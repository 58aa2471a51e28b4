// Khronos' gltf-validator, from npm.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

// Prints errors and warnings; fails when there are errors.
export async function validate(path) {
    const { default: validator } = await import('gltf-validator');
    const { issues } = await validator.validateBytes(new Uint8Array(readFileSync(path)), { uri: basename(path) });
    for (const m of issues.messages.filter((m) => m.severity < 2))
        console.log(`${basename(path)}: ${m.severity ? 'warning' : 'ERROR'} ${m.code}: ${m.message} (${m.pointer})`);
    if (issues.numErrors > 0) throw new Error(`gltf-validator finds ${issues.numErrors} errors in ${path}`);
    console.log(`${basename(path)}: gltf-validator: no errors, ${issues.numWarnings} warnings`);
}
