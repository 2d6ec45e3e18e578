! What a language definition of Inform's library must have, and no player of these stories sees. The file that includes
! this one defines the words and messages of its language.
Constant NKEY__TX "N"; Constant PKEY__TX "P"; Constant QKEY1__TX "Q"; Constant QKEY2__TX "Q"; Constant RKEY__TX "R";
Constant NKEY1__KY 'N'; Constant NKEY2__KY 'n'; Constant PKEY1__KY 'P'; Constant PKEY2__KY 'p';
Constant QKEY1__KY 'Q'; Constant QKEY2__KY 'q';
Constant TIME__TX " "; Constant TIME_S__TX " "; Constant SCORE_S__TX " "; Constant MOVES_S__TX " ";
Constant FORMER__TX " "; Constant MYFORMER__TX " "; Constant THOSET__TX " "; Constant THAT__TX " "; Constant THE__TX " ";
Constant IS__TX " "; Constant ARE__TX " "; Constant IS2__TX " "; Constant ARE2__TX " "; Constant WAS__TX " ";
Constant WERE__TX " "; Constant WAS2__TX " "; Constant WERE2__TX " "; Constant WHOM__TX " "; Constant WHICH__TX " ";
Constant COMMA__TX ", "; Constant COLON__TX ":"; Constant LIBERROR__TX "! "; Constant TERP__TX " "; Constant VER__TX " ";
Constant STDTERP__TX " "; Constant TERPVER__TX " "; Constant LIBSER__TX " "; Constant VM__TX " "; Constant RELEASE__TX " ";
Constant SERNUM__TX " "; Constant INFORMV__TX " "; Constant LIBRARYV__TX " ";
Constant STAND__TX '_stand'; Constant SIT__TX '_sit'; Constant LIE__TX '_lie';
[ LanguageToInformese; ];
[ LanguageDirection; rfalse; ];
[ LanguageNumber n; print n; ];
[ LanguageTimeOfDay h m; print h, ":", m; ];
[ LanguageVerbLikesAdverb; rfalse; ];
[ LanguageVerbMayBeName; rfalse; ];
[ Tense a; print (string) a; ];
[ ThatOrThose o; print (the) o; ];
[ LowerCase c; if (c >= 'A' && c <= 'Z') c = c + 32; return c; ];
[ UpperCase c; if (c >= 'a' && c <= 'z') c = c - 32; return c; ];
