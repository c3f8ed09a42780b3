import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['build/', 'lib/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { project: ['tsconfig.json', 'tsconfig.test.json'] } },
    rules: {
      // JupyterLab's own rules: extension template 4.
      '@typescript-eslint/naming-convention': [
        'error',
        { selector: 'interface', format: ['PascalCase'], custom: { regex: '^I[A-Z]', match: true } }
      ],
      // Arguments of commands are JSON.
      '@typescript-eslint/no-base-to-string': 'off',
      curly: ['error', 'all'],
      eqeqeq: 'error'
    }
  },
  { files: ['**/*.cjs'], languageOptions: { globals: { module: 'writable' } } },
  prettier
);
